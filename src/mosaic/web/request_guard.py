"""What stands before every request, of HTTP and of the WebSocket: host, origin, cookie; and the headers of the answers.

1. Host: a name of this server. A page that rebinds its own name to this machine (DNS rebinding) sends its own.
2. Origin: where a browser sends one, it is that of the host. What changes something, and a WebSocket, must have one.
3. Sec-Fetch-Site: a browser says by it that another site asks; only the link with the token may be followed from there,
   and the page itself, which holds nothing.
4. Cookie: without it there are the page, its style and its script, which are the same for every user, and nothing else.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mosaic.web.entrance import Entrance
from mosaic.web.web_address import WebAddress

GUARDED = ("/api/", "/live")
SAFE_METHODS = frozenset({"GET", "HEAD"})
MOST_BODY = 2**20
"""Bytes of a request."""
MOST_DIGITS = 19
TOO_LONG = f"the body must be shorter than {MOST_BODY:,} bytes, and say how long"
OWN_SITE = frozenset({"", "same-origin", "none"})
REFUSED_SOCKET = 1008
HEADERS: Mapping[str, str] = {
    "content-security-policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


class RequestGuard:
    """An ASGI application around another one."""

    def __init__(self, app: ASGIApp, address: WebAddress, entrance: Entrance) -> None:
        self._app, self._address, self._entrance = app, address, entrance

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        status, why = self._refusal(scope)
        if not why:
            await self._app(scope, receive, _with_headers(send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": REFUSED_SOCKET, "reason": why})
        else:
            await JSONResponse({"error": why}, status_code=status)(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> tuple[int, str]:
        """The status and the reason; an empty reason lets the request in."""
        headers, is_socket = Headers(scope=scope), scope["type"] == "websocket"
        path, method = scope["path"], scope.get("method", "GET")
        hosts = headers.getlist("host")
        if len(hosts) != 1 or _name_of(hosts[0]) not in self._address.names:
            return HTTPStatus.MISDIRECTED_REQUEST, "this is not a name of this server; --name adds one"
        origins = headers.getlist("origin")
        if any(origin.lower() != f"{self._address.scheme}://{hosts[0].lower()}" for origin in origins):
            return HTTPStatus.FORBIDDEN, "another site asks"
        if (is_socket or method not in SAFE_METHODS) and not origins:
            return HTTPStatus.FORBIDDEN, "the request does not say which site it comes from"
        is_guarded = is_socket or path.startswith(GUARDED)
        if is_guarded and headers.get("sec-fetch-site", "") not in OWN_SITE:
            return HTTPStatus.FORBIDDEN, "another site asks"
        if is_guarded and not self._entrance.knows(headers):
            return HTTPStatus.UNAUTHORIZED, "open the link that 'mosaic web' shows in its terminal"
        if method not in SAFE_METHODS:
            return _refusal_of_body(headers)
        return HTTPStatus.OK, ""


def _refusal_of_body(headers: Headers) -> tuple[int, str]:
    if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the body must be JSON"
    length = headers.get("content-length", "")
    is_number = length.isascii() and length.isdigit() and len(length) <= MOST_DIGITS
    # A body in chunks is as long as it likes, whatever length stands beside it.
    if "transfer-encoding" in headers or not is_number or int(length) > MOST_BODY:
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TOO_LONG
    return HTTPStatus.OK, ""


def _name_of(host: str) -> str:
    """Without its port: behind `ssh -L` a browser calls us by another one."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            _add(message)
        await send(message)

    return sending


def _add(message: dict[str, Any] | Message) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
