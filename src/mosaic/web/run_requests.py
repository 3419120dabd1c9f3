"""What a page asks about one run over HTTP: settings, artifacts, files, an older part of its log, a part of a curve."""

import re
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from pathlib import PurePosixPath
from urllib.parse import quote

import numpy as np
from starlette.concurrency import iterate_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from mosaic.errors import ConfigError, MosaicError, Problem, UnsafePath
from mosaic.plain_text import plain_line
from mosaic.rpc import trainer_pb2 as pb
from mosaic.run_table import run_differences
from mosaic.web import wire
from mosaic.web.channels.log_channel import filter_of, shown, with_earlier
from mosaic.web.daemon_news import DaemonNews
from mosaic.web.json_answers import answer, answering, in_thread

SHOWN: Mapping[str, str] = {
    ".mp4": "video/mp4",
    ".webm": "video/webm",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
"""What a page may show itself; everything else is a download."""
LOG_PAGE = 500
DETAIL = 4000
"""Points of a part of a curve."""
MOST_COMPARED = 50
_RANGE = re.compile(r"bytes=(\d+)-(\d*)", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d{1,19}", re.ASCII)
MOST_NUMBER = 2**63 - 1
"""Of a step, or of a place in a file."""
MOST = f"at most {MOST_NUMBER:,}"


class RunRequests:
    """Each run by id, beginning of an id, label or @last."""

    def __init__(self, news: DaemonNews) -> None:
        self._news = news

    def routes(self) -> list[Route]:
        return [
            Route("/api/runs/{run}/settings", answering(self.settings)),
            Route("/api/runs/{run}/artifacts", answering(self.artifacts)),
            Route("/api/runs/{run}/file", answering(self.file)),
            Route("/api/runs/{run}/log", answering(self.log)),
            Route("/api/runs/{run}/points", answering(self.points)),
            Route("/api/compare", answering(self.compare)),
        ]

    async def settings(self, request: Request) -> Response:
        return answer(await in_thread(lambda: self._compared([request.path_params["run"]])))

    async def compare(self, request: Request) -> Response:
        names = request.query_params.getlist("run")
        if not 1 <= len(names) <= MOST_COMPARED:
            raise ConfigError([Problem("run", f"name 1 to {MOST_COMPARED} runs")], what="comparison")
        return answer(await in_thread(lambda: self._compared(names)))

    async def artifacts(self, request: Request) -> Response:
        return answer(await in_thread(lambda: self._artifacts(self._id(request))))

    async def file(self, request: Request) -> Response:
        """In pieces, and from a place on: a player of videos asks for parts."""
        path = request.query_params.get("path", "")
        run_id = await in_thread(lambda: self._id(request))
        sizes = await in_thread(lambda: self._news.client.files(run_id))
        if path not in sizes:
            # The daemon would refuse it too; what is not listed is not even asked for.
            raise UnsafePath(f"run {run_id} has no file '{plain_line(path)}'")
        return await self._sent(request, run_id, path, sizes[path])

    async def log(self, request: Request) -> Response:
        """What stands before a place."""
        given = request.query_params
        try:
            place = pb.LogPlace(**{name: _whole(given.get(name, "0")) for name in ("stdout", "stderr", "events")})
        except ValueError as error:
            raise ConfigError([Problem("place", f"must be three whole numbers, {MOST}")], what="request") from error
        wanted = filter_of(given.getlist("source"), given.get("level", ""), given.get("text", ""))
        page = pb.LogPage(first=place)
        while not page.lines and not page.is_start:
            page = await in_thread(
                lambda page=page: with_earlier(self._news.client, self._id(request), page, wanted, LOG_PAGE)
            )
        return answer(shown(page))

    async def points(self, request: Request) -> Response:
        """A part of a curve as it was logged; from very many points the lowest and highest of neighbours."""
        given = request.query_params
        try:
            first, last = _whole(given.get("from", "0")), _whole(given.get("to", "0"))
        except ValueError as error:
            raise ConfigError([Problem("from", f"and to must be whole numbers, {MOST}")], what="request") from error
        tag = given.get("tag", "")
        found = await in_thread(
            lambda: self._news.client.metrics(
                self._id(request), tags=[tag], min_step=max(first, 0), max_step=max(last, 0), points=DETAIL
            ).get(tag)
        )
        x = np.array(found.steps if found else [], dtype=np.float64)
        y = np.array(found.values if found else [], dtype=np.float64)
        head = {"total": found.total if found else 0}
        return Response(wire.columns(head, x=x, y=y), media_type="application/octet-stream")

    def _id(self, request: Request) -> str:
        return self._news.run(request.path_params["run"]).run_id

    def _compared(self, names: list[str]) -> dict[str, object]:
        runs = [self._news.client.get(name) for name in names]
        found = run_differences.compared(run_differences.read(self._news.client, runs))
        return {
            "runs": [
                {"run": run.run_id, "name": name, "state": run.state.value}
                for run, name in zip(runs, found.names, strict=True)
            ],
            "lines": [
                {
                    "section": line.section,
                    "name": line.name,
                    "cells": line.cells,
                    "changed": line.changed,
                    "differs": line.differs,
                    "default": line.default,
                }
                for line in found.lines
            ],
        }

    def _artifacts(self, run_id: str) -> dict[str, object]:
        client = self._news.client
        sizes = client.files(run_id)
        listed = [
            {
                "kind": one.kind,
                "path": one.path,
                "label": one.label,
                "step": one.global_step if one.HasField("global_step") else None,
                "bytes": sizes.get(one.path, one.bytes),
                "is_file": one.path in sizes,
                "shown": SHOWN.get(PurePosixPath(one.path).suffix.lower(), ""),
            }
            for one in client.artifacts(run_id)
        ]
        files = [
            {"path": path, "bytes": size, "shown": SHOWN.get(PurePosixPath(path).suffix.lower(), "")}
            for path, size in sorted(sizes.items())
        ]
        return {"artifacts": listed, "files": files, "damage": client.manifest_damage(run_id)}

    async def _sent(self, request: Request, run_id: str, path: str, size: int) -> Response:
        name = PurePosixPath(path).name
        kind = SHOWN.get(PurePosixPath(path).suffix.lower(), "")
        is_download = not kind or "download" in request.query_params
        disposition = "attachment" if is_download else "inline"
        headers = {
            "content-type": kind or "application/octet-stream",
            "content-disposition": f"{disposition}; filename*=UTF-8''{quote(name, safe='')}",
            # A file is never a document of ours, whatever is in it.
            "content-security-policy": "default-src 'none'; sandbox",
            "accept-ranges": "bytes",
        }
        asked = _RANGE.fullmatch(request.headers.get("range", ""))
        first, last, status = 0, size - 1, HTTPStatus.OK
        if asked is not None:
            first, last = _place(asked[1], size), min(_place(asked[2], size), size - 1)
            if first > last:
                return Response(
                    status_code=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
                    headers={"content-range": f"bytes */{size}"},
                )
            headers["content-range"] = f"bytes {first}-{last}/{size}"
            status = HTTPStatus.PARTIAL_CONTENT
        headers["content-length"] = str(last - first + 1)
        if request.method == "HEAD":
            return Response(status_code=status, headers=headers)
        return StreamingResponse(self._pieces(run_id, path, first, last - first + 1), status, headers)

    async def _pieces(self, run_id: str, path: str, first: int, left: int) -> AsyncIterator[bytes]:
        """As many bytes as were promised: a file that grows meanwhile is cut there."""
        if left <= 0:
            return
        stream = await in_thread(lambda: self._news.client.read_artifact(run_id, path, offset=first))
        try:
            async for piece in iterate_in_threadpool(stream):
                yield piece[:left]
                left -= len(piece)
                if left <= 0:
                    return
        except MosaicError:
            # The answer has begun: its length tells the browser that it was cut short.
            return
        finally:
            stream.stop()


def _whole(text: str) -> int:
    """ValueError if it is none that the daemon takes; one of thousands of digits is not even read."""
    if not _WHOLE.fullmatch(text) or int(text) > MOST_NUMBER:
        raise ValueError(text[:20])
    return int(text)


def _place(digits: str, size: int) -> int:
    """In a file of this size; behind its end if nothing is given, or more than any file has."""
    return int(digits) if _WHOLE.fullmatch(digits) else size
