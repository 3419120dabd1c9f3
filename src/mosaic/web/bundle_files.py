"""The page itself: the files that `make web` has built, which are the same for every user and hold nothing."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

PAGE, ICON = "index.html", "icon.svg"
TYPES: Mapping[str, str] = {
    PAGE: "text/html; charset=utf-8",
    "studio.js": "text/javascript; charset=utf-8",
    "studio.css": "text/css; charset=utf-8",
    ICON: "image/svg+xml",
}


@dataclass(frozen=True)
class _File:
    content: bytes
    packed: bytes


@cache
def _read(name: str) -> _File:
    content = (files("mosaic.web") / "bundle" / name).read_bytes()
    return _File(content, gzip.compress(content, mtime=0))


async def page(request: Request) -> Response:
    """Whatever the view: the script reads the address."""
    return _answer(request, PAGE)


async def icon(request: Request) -> Response:
    """What browsers ask for by themselves."""
    return _answer(request, ICON)


async def asset(request: Request) -> Response:
    return _answer(request, request.path_params["name"])


def _answer(request: Request, name: str) -> Response:
    if name not in TYPES:
        return Response(status_code=404)
    file = _read(name)
    headers = {"content-type": TYPES[name], "vary": "accept-encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, headers={**headers, "content-encoding": "gzip"})
    return Response(file.content, headers=headers)
