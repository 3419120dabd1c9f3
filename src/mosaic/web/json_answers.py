"""Answers to requests over HTTP, and errors of ours as answers."""

import json
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, TypeVar, cast

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import Response

from mosaic.errors import ConfigError, MosaicError, Problem, UnknownName, UnsafePath
from mosaic.rpc.call_errors import Refused
from mosaic.rpc.locate import DaemonUnavailable
from mosaic.web import wire
from mosaic.web.request_guard import MOST_BODY, TOO_LONG

R = TypeVar("R")
Endpoint = Callable[[Request], Awaitable[Response]]


async def in_thread(call: Callable[[], R]) -> R:
    """A call of the daemon, which blocks."""
    return await to_thread.run_sync(call)


def answer(data: object, status: int = HTTPStatus.OK) -> Response:
    return Response(wire.text(data), status, media_type="application/json")


def answering(endpoint: Endpoint) -> Endpoint:
    """The same, with errors of ours as answers."""

    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except MosaicError as error:
            problems = getattr(error, "problems", ())
            listed = [{"path": problem.path, "message": problem.message} for problem in problems]
            return answer({"error": error.sentence, "problems": listed}, _status(error))

    return answered


class BodyTooLong(MosaicError):
    """A request that brings more than it said."""


async def body_of(request: Request) -> Mapping[str, Any]:
    """The JSON object that a request brings; one that is too long is not read to its end."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BODY:
            raise BodyTooLong(TOO_LONG)
    try:
        data: Any = json.loads(body)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise ConfigError([Problem("", "must be a JSON object")], what="request")
    return cast("dict[str, Any]", data)


def _status(error: MosaicError) -> int:
    if isinstance(error, BodyTooLong):
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    if isinstance(error, DaemonUnavailable):
        return HTTPStatus.SERVICE_UNAVAILABLE
    if isinstance(error, UnknownName) or (isinstance(error, Refused) and error.status == "NOT_FOUND"):
        return HTTPStatus.NOT_FOUND
    if isinstance(error, UnsafePath) or error.exit_code == ConfigError.exit_code:
        return HTTPStatus.BAD_REQUEST
    return HTTPStatus.CONFLICT
