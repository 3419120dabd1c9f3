"""A `mosaic web` of its own for tests: its link, its cookie, requests and the WebSocket."""

import http.client
import json
import os
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from websockets.sync.client import ClientConnection, connect

PATIENCE_S = 300.0

MOSAIC = Path(sys.executable).parent / "mosaic"
LINK = re.compile(r"(https?)://(\[?[^/]*?\]?):(\d+)/enter\?token=(\S+)")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class WebServer:
    process: "subprocess.Popen[str]"
    port: int
    token: str
    cookie: str = ""
    links: list[str] = field(default_factory=list[str])
    context: ssl.SSLContext | None = None

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def origin(self) -> str:
        return f"{'https' if self.context else 'http'}://{self.host}"

    def next_link(self) -> str:
        """The line that the server tells after the last one was used."""
        return read_link(self.process)[2]

    def ask(
        self, path: str, *, method: str = "GET", headers: Mapping[str, str | None] | None = None, body: Any = None
    ) -> Answer:
        """As a browser with the cookie would; a header that is None is left out."""
        given: dict[str, str | None] = {"Host": self.host, "Cookie": self.cookie}
        data = b""
        if method != "GET":
            data = body if isinstance(body, bytes) else json.dumps(body if body is not None else {}).encode()
            given |= {"Origin": self.origin, "Content-Type": "application/json", "Content-Length": str(len(data))}
        given |= headers or {}
        made = http.client.HTTPSConnection if self.context else http.client.HTTPConnection
        options = {"context": self.context} if self.context else {}
        connection = made("127.0.0.1", self.port, timeout=PATIENCE_S, **options)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(data or None)
            answer = connection.getresponse()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def enter(self, token: str | None = None) -> Answer:
        answer = self.ask(f"/enter?token={self.token if token is None else token}", headers={"Cookie": None})
        if answer.status == 200:
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return answer

    def live(self, **headers: str) -> ClientConnection:
        given = {"Cookie": self.cookie, **headers}
        return connect(f"ws://{self.host}/live", additional_headers=given, origin=None, max_size=2**25)


class Channel:
    """One channel over a WebSocket, as the page opens it."""

    def __init__(self, socket: ClientConnection, kind: str, number: int = 1, **asked: Any) -> None:
        self.socket, self.number = socket, number
        socket.send(json.dumps({"c": number, "open": kind, **asked}))

    def __iter__(self) -> "Channel":
        return self

    def __next__(self) -> Any:
        """A JSON message, or the header of a binary one with its columns or its bytes as `data`."""
        while True:
            message = self.socket.recv(timeout=PATIENCE_S)
            found: dict[str, Any] = json.loads(message) if isinstance(message, str) else unpacked(message)
            if found["c"] == self.number:
                return found

    def ack(self) -> None:
        self.socket.send(json.dumps({"c": self.number, "ack": 1}))


def unpacked(message: bytes) -> dict[str, Any]:
    length = int.from_bytes(message[:4], "little")
    head: dict[str, Any] = json.loads(message[4 : 4 + length])
    payload = message[4 + length :]
    if "columns" not in head:
        return {**head, "data": payload}
    numbers = np.frombuffer(payload, "<f8")
    at, found = 0, {}
    for name, count in head["columns"].items():
        found[name] = numbers[at : at + count]
        at += count
    return {**head, "data": found}


def read_link(process: "subprocess.Popen[str]") -> tuple[str, int, str]:
    assert process.stdout is not None
    for line in process.stdout:
        if match := LINK.search(line):
            return match[1], int(match[3]), match[4]
    raise AssertionError(f"no link: {process.stderr.read() if process.stderr else ''}")


@contextmanager
def web_server(*words: str, enters: bool = True) -> Iterator[WebServer]:
    """Of the daemon of MOSAIC_HOME."""
    command = [MOSAIC, "web", "--port", "0", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        scheme, port, token = read_link(process)
        context = ssl._create_unverified_context() if scheme == "https" else None
        server = WebServer(process, port, token, context=context)
        if enters:
            server.enter()
        yield server
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
