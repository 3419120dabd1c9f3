"""A web server of this machine that notes what is posted to it, and answers as a test says."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mosaic.alerts.alert import Alert
from mosaic.spec.run_dir import Home

RUN = "01K9CG05J5Y0FFQMT1T920EZK2"


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.posted: list[dict[str, Any]] = []
        self.status, self.headers = 200, dict[str, str]()
        self.may_answer = threading.Event()
        self.may_answer.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/services/T0/secret"


class Answers(BaseHTTPRequestHandler):
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        self.server.posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.server.may_answer.wait()
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Not on stderr."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield made
    made.may_answer.set()
    made.shutdown()
    made.server_close()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.create()
    return made


@pytest.fixture
def alert() -> Alert:
    return Alert(
        alert_id=f"{RUN}-1-failure",
        number=1,
        run_id=RUN,
        attempt=1,
        cause="failure",
        title="<!channel> walker: failed",
        text="NaN & co",
        time=1_763_200_000.0,
        global_step=512,
        label="<!channel> walker",
        to=("hook", "bell"),
    )
