"""The Hugging Face Hub as far as an upload needs it: repositories, large files, commits; or it refuses."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USER, TOKEN = "ada", "hf_standInStandInStandInStandInStandIn"
LARGE = (".mp4", ".cleanrl_model")
"""Stored apart, as the Hub does with what is not text."""


class Hub(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, refuse: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.refuse = refuse
        """HTTP status of every answer; 0 answers properly."""
        self.asked: list[str] = []
        self.made: list[dict[str, Any]] = []
        self.stored: dict[str, bytes] = {}
        """Large files by their sha256."""
        self.files: dict[str, bytes] = {}
        """What the last commit left in the repository."""
        self.message = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def commit(self, lines: list[dict[str, Any]]) -> None:
        for line in lines:
            value = line["value"]
            if line["key"] == "header":
                self.message = value["summary"]
            elif line["key"] == "file":
                self.files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                self.files[value["path"]] = self.stored[value["oid"]]


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_POST(self) -> None:
        hub, body = self.server, self._body()
        hub.asked.append(f"POST {self.path.split('?')[0]}")
        if hub.refuse or self.headers.get("authorization") != f"Bearer {TOKEN}":
            self._send(hub.refuse or 401, {"error": "refused by the stand-in"})
        elif self.path == "/api/repos/create":
            request = json.loads(body)
            hub.made.append(request)
            name = f"{request.get('organization') or USER}/{request['name']}"
            self._send(200, {"url": f"{hub.url}/{name}", "name": name, "id": "1"})
        elif "/preupload/" in self.path:
            files = json.loads(body)["files"]
            modes = [
                {
                    "path": file["path"],
                    "uploadMode": "lfs" if file["path"].endswith(LARGE) else "regular",
                    "shouldIgnore": False,
                }
                for file in files
            ]
            self._send(200, {"files": modes})
        elif self.path.endswith("/info/lfs/objects/batch"):
            objects = [
                {**item, "actions": {"upload": {"href": f"{hub.url}/large/{item['oid']}"}}}
                for item in json.loads(body)["objects"]
            ]
            self._send(200, {"transfer": "basic", "objects": objects}, kind="application/vnd.git-lfs+json")
        elif "/commit/" in self.path:
            hub.commit([json.loads(line) for line in body.splitlines()])
            repo = self.path.split("/api/models/")[1].split("/commit/")[0]
            self._send(
                200, {"success": True, "commitOid": "0" * 40, "commitUrl": f"{hub.url}/{repo}/commit/{'0' * 40}"}
            )
        else:
            self._send(200, {"errors": [], "warnings": []})

    def do_PUT(self) -> None:
        content, wanted = self._body(), self.path.rpartition("/")[2]
        self.server.asked.append("PUT /large")
        if hashlib.sha256(content).hexdigest() == wanted:
            self.server.stored[wanted] = content
            self._send(200, {})
        else:
            self._send(400, {"error": "the content is not what was announced"})

    def do_GET(self) -> None:
        self.server.asked.append(f"GET {self.path.split('?')[0]}")
        self._send(self.server.refuse or 404, {"error": "there is no such thing"})

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") == "chunked":
            parts: list[bytes] = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _send(self, status: int, content: object, *, kind: str = "application/json") -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002


@contextmanager
def serving(*, refuse: int = 0) -> Iterator[Hub]:
    hub = Hub(refuse)
    thread = threading.Thread(target=hub.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()
