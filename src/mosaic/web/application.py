"""The server as a whole: the page, its WebSocket, what it may ask, and the guard in front of all of it."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Callable

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from mosaic.web import bundle_files
from mosaic.web.browser_socket import BrowserSocket
from mosaic.web.control_requests import ControlRequests
from mosaic.web.daemon_news import DaemonNews
from mosaic.web.entrance import Entrance
from mosaic.web.json_answers import answer, answering
from mosaic.web.request_guard import RequestGuard
from mosaic.web.run_requests import RunRequests
from mosaic.web.server_room import ServerRoom
from mosaic.web.study_requests import StudyRequests
from mosaic.web.web_address import WebAddress

VIEWS = ("/", "/run/{run}", "/compare", "/sweeps", "/sweep/{sweep}", "/statistics", "/new")
"""Addresses of the page: each view has one, which may be kept and sent."""
MOST_MESSAGE = 2**20
END_S = 2
ENTERED = """<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/"><title>MOSAIC</title>
<a href="/">MOSAIC</a>"""
"""Not a redirect: a browser that came from another site would not send the cookie along with it."""
VOID = """<!doctype html><meta charset="utf-8"><title>MOSAIC</title>
<p>This link is void: it works once, and as long as 'mosaic web' runs. Its terminal shows a fresh one.
<p>If this browser has opened a link before, <a href="/">go on here</a>."""


class Studio:
    """One server for one daemon."""

    def __init__(
        self,
        address: WebAddress,
        news: DaemonNews,
        *,
        port: int,
        allow_control: bool,
        tell: Callable[[str], object],
    ) -> None:
        self._address, self._news, self._allow_control = address, news, allow_control
        self._room = ServerRoom()
        self._entrance = Entrance(address.url(port), port, tell, is_secure=address.certificate is not None)

    def serve(self, listener: socket.socket) -> None:
        """Until Ctrl-C or SIGTERM."""
        address = self._address
        config = uvicorn.Config(
            RequestGuard(self._application(), address, self._entrance),
            ssl_certfile=address.certificate,
            ssl_keyfile=address.key,
            ws="websockets-sansio",
            ws_max_size=MOST_MESSAGE,
            ws_per_message_deflate=False,
            http="h11",
            access_log=False,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=END_S,
        )
        uvicorn.Server(config).run(sockets=[listener])

    def _application(self) -> Starlette:
        control = ControlRequests(self._news).routes() if self._allow_control else []
        return Starlette(
            routes=[
                Route("/enter", self._enter),
                Route("/api/about", answering(self._about)),
                *RunRequests(self._news).routes(),
                *StudyRequests().routes(),
                *control,
                WebSocketRoute("/live", self._live),
                Route("/files/{name}", bundle_files.asset),
                Route("/favicon.ico", bundle_files.icon),
                *(Route(view, bundle_files.page) for view in VIEWS),
            ],
            lifespan=self._lifespan,
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncGenerator[None]:
        for notice in (self._news.runs_changed, self._news.state_changed):
            notice.bind(asyncio.get_running_loop())
        self._news.start()
        self._entrance.invite()
        try:
            yield
        finally:
            self._news.stop()
            self._room.close()

    async def _enter(self, request: Request) -> Response:
        cookie = self._entrance.admit(request.query_params.get("token", ""))
        if cookie is None:
            return HTMLResponse(VOID, status_code=403)
        return HTMLResponse(ENTERED, headers={"set-cookie": cookie})

    async def _about(self, _: Request) -> Response:
        return answer({"control": self._allow_control, "target": self._news.target or ""})

    async def _live(self, socket: WebSocket) -> None:
        await BrowserSocket(socket, self._news, self._room).serve()
