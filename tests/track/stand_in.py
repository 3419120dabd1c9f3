"""A W&B server as far as its package needs one: runs are made, history is taken in; or it fails as it is told to."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ENTITY = "an-entity"


class Server(ThreadingHTTPServer):
    daemon_threads = True
    port = 0
    """Any that is free."""

    def __init__(self, refuse: int, *, silent: bool, says: bytes | None) -> None:
        super().__init__(("127.0.0.1", self.port), Handler)
        self.refuse = refuse
        """HTTP status of every answer to a query; 0 answers properly."""
        self.silent = silent
        """Queries are never answered."""
        self.says = says
        """What every query is answered with instead of an answer; nothing at all closes the connection."""
        self.ended = threading.Event()
        self.history: dict[int, dict[str, Any]] = {}
        """Lines of history by their place, as the server would keep them."""
        self.asked: list[str] = []
        self.is_complete = False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [self.history[place] for place in sorted(self.history)]

    def answer(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(query)
        project = {"id": "p", "name": variables.get("project") or "try", "entity": {"id": "e", "name": ENTITY}}
        if "upsertBucket" in query:
            bucket = {"id": "b", "name": variables.get("name"), "displayName": variables.get("displayName")}
            bucket |= {"description": None, "config": None, "sweepName": None, "historyLineCount": 0}
            return {"upsertBucket": {"bucket": bucket | {"project": project}, "inserted": True}}
        if "createArtifact" in query:
            # As if it had the files already: none is sent.
            artifact = {"id": "a", "state": "COMMITTED", "artifactSequence": {"latestArtifact": {"id": "a"}}}
            return {"createArtifact": {"artifact": artifact}}
        if "ArtifactType" in query:
            return {"project": None}
        if "createRunFiles" in query:
            files = [{"name": name, "uploadUrl": f"{self.url}/upload/{name}"} for name in variables.get("files", [])]
            return {"createRunFiles": {"runID": "b", "uploadHeaders": [], "files": files}}
        if "viewer" in query:
            return {"viewer": {"id": "v", "entity": ENTITY, "username": ENTITY, "flags": "{}", "teams": {"edges": []}}}
        if "__type" in query or "IntrospectionQuery" in query:
            return dict.fromkeys(re.findall(r"^\s+(\w+): __type", query, re.MULTILINE))
        return {}


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path.endswith("/graphql"):
            if self.server.silent:
                self.server.ended.wait()
                return
            if self.server.says is not None:
                # As it is, whether it speaks HTTP or not.
                self.wfile.write(self.server.says)
                self.close_connection = True
                return
            if self.server.refuse:
                self._send(self.server.refuse, {"errors": [{"message": "refused by the stand-in"}]})
                return
            request = json.loads(body)
            self._send(200, {"data": self.server.answer(request["query"], request.get("variables") or {})})
        elif self.path.endswith("/file_stream"):
            self._take_stream(json.loads(body))
            self._send(200, {"exitcode": None, "limits": {}})
        else:
            self._send(200, {})

    def do_GET(self) -> None:
        self._send(200, {})

    def do_PUT(self) -> None:
        self.do_POST()

    def _take_stream(self, body: dict[str, Any]) -> None:
        chunk = (body.get("files") or {}).get("wandb-history.jsonl")
        if chunk:
            for place, line in enumerate(chunk["content"], start=chunk["offset"]):
                self.server.history[place] = json.loads(line)
        self.server.is_complete |= bool(body.get("complete"))

    def _send(self, status: int, content: dict[str, Any]) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None: ...


@contextmanager
def serving(refuse: int = 0, *, silent: bool = False, says: bytes | None = None) -> Iterator[Server]:
    server = Server(refuse, silent=silent, says=says)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        thread.join()
        server.server_close()
