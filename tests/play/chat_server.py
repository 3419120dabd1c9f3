"""A real HTTP server that speaks the chat protocol, and can misbehave in all the ways that real ones do."""

import json
import re
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[dict[str, Any]], str]
Manner = Callable[["_Handler", dict[str, Any]], None]


def along_the_edge(body: dict[str, Any]) -> str:
    """Plays CliffWalking as one who reads the prompt: up, right along the edge, down."""
    asked = body["messages"][-1]["content"]
    text = asked if isinstance(asked, str) else asked[0]["text"]
    found = re.search(r"position\((\d+), (\d+)\)", text)
    assert found, text
    row, column = map(int, found.groups())
    action = "down" if column == 11 else "up" if row == 3 else "right"
    return json.dumps({"reason": f"from {row}, {column}", "action": action})


class ChatServer:
    """`manners` are used up first, one a request; then it answers well."""

    def __init__(self, answer: Answer = along_the_edge, port: int = 0) -> None:
        self.answer = answer
        self.manners: deque[Manner] = deque()
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.broken_off = threading.Event()
        """A client went away before it had its answer."""
        self.done = threading.Event()
        self._http = _Http(("127.0.0.1", port), _Handler)
        self._http.chat = self  # type: ignore[attr-defined]
        self.port = self._http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.done.set()
        self._http.shutdown()
        self._http.server_close()
        for connection in self._http.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(5)


@contextmanager
def serving(*manners: Manner, answer: Answer = along_the_edge, port: int = 0) -> Iterator[ChatServer]:
    server = ChatServer(answer, port)
    server.manners.extend(manners)
    try:
        yield server
    finally:
        server.close()


class _Http(ThreadingHTTPServer):
    """Knows its connections, so that one that is kept open ends with the server."""

    def __init__(self, *args: Any) -> None:
        self.connections: list[Any] = []
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.connections.append(request)
        super().process_request(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Quiet."""

    def do_POST(self) -> None:
        chat: ChatServer = self.server.chat  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        chat.requests.append(body)
        chat.headers.append(dict(self.headers))
        manner = chat.manners.popleft() if chat.manners else well
        try:
            manner(self, body)
        except (BrokenPipeError, ConnectionResetError):
            chat.broken_off.set()

    def send(self, status: int, data: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)


def well(handler: _Handler, body: dict[str, Any]) -> None:
    """As it should be: in one piece or in events, as text or as a call of the tool."""
    chat: ChatServer = handler.server.chat  # type: ignore[attr-defined]
    text = chat.answer(body)
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    if body.get("stream"):
        pieces = [text[at : at + 7] for at in range(0, len(text), 7)]
        events = [_event(body, piece) for piece in pieces]
        events += [{"choices": [{"delta": {}, "finish_reason": "stop"}]}, {"choices": [], "usage": usage}]
        _stream(handler, [": still there", *map(_data, events), "data: [DONE]"])
        return
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if "tools" in body:
        name = body["tools"][0]["function"]["name"]
        message = {"role": "assistant", "content": None}
        message["tool_calls"] = [{"id": "1", "type": "function", "function": {"name": name, "arguments": text}}]
    handler.send(200, json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode())


def _event(body: dict[str, Any], piece: str) -> dict[str, Any]:
    if "tools" in body:
        return {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}}]}
    return {"choices": [{"delta": {"content": piece}}]}


def _data(event: dict[str, Any]) -> str:
    return f"data: {json.dumps(event)}"


def _stream(handler: _Handler, events: list[str], *, whole: bool = True) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for event in events:
        data = f"{event}\n\n".encode()
        handler.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    if whole:
        handler.wfile.write(b"0\r\n\r\n")
    else:
        handler.close_connection = True


def refuses(status: int, message: str = "no", **headers: str) -> Manner:
    return lambda handler, _: handler.send(status, json.dumps({"error": {"message": message}}).encode(), **headers)


def says(text: str) -> Manner:
    """Answers well in form, with this content."""
    data = json.dumps({"choices": [{"message": {"content": text}}]}).encode()
    return lambda handler, _: handler.send(200, data)


def babbles(handler: _Handler, _: dict[str, Any]) -> None:
    handler.send(200, b'{"choices": [{"mess')


def breaks_off(handler: _Handler, _: dict[str, Any]) -> None:
    """Promises more than it sends."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def breaks_off_the_stream(handler: _Handler, body: dict[str, Any]) -> None:
    _stream(handler, [_data(_event(body, '{"reason": "'))], whole=False)


def ends_the_stream_early(handler: _Handler, body: dict[str, Any]) -> None:
    """Ends it properly, but before the model was done."""
    _stream(handler, [_data(_event(body, '{"reason": "'))])


def errs_in_the_stream(handler: _Handler, body: dict[str, Any]) -> None:
    _stream(handler, [_data(_event(body, "{")), _data({"error": {"message": "out of memory"}})])


def hangs(handler: _Handler, _: dict[str, Any]) -> None:
    """Never answers; notices when the client goes."""
    chat: ChatServer = handler.server.chat  # type: ignore[attr-defined]
    handler.connection.settimeout(0.05)
    while not chat.done.is_set():
        try:
            if handler.connection.recv(1) == b"":
                raise ConnectionResetError
        except TimeoutError:
            continue
    handler.close_connection = True


def drips(handler: _Handler, body: dict[str, Any]) -> None:
    """Sends something now and then, and never the end."""
    chat: ChatServer = handler.server.chat  # type: ignore[attr-defined]
    _stream(handler, [": ."], whole=False)
    while not chat.done.wait(0.05):
        handler.wfile.write(b"3\r\n:\n\n\r\n")
