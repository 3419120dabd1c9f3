"""The border of the service: who may call, and what a caller sees of an error."""

import hmac
import sqlite3
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import grpc
from google.protobuf.message import DecodeError

from mosaic.errors import MosaicError
from mosaic.log import get_logger
from mosaic.trainer.serving.service import STATUS

MAX_STREAMS = 192
"""Open streams; each occupies a thread of the server, and some must be left for everything else."""
MAX_DETAILS = 6000

log = get_logger()


class _Malformed:
    """Stands for a request that is not a message of its type."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Interceptor(grpc.ServerInterceptor):
    """Checks the token where one is needed, and turns every exception into a status with a sentence."""

    def __init__(self, token: str | None) -> None:
        self._token = token
        self._streams = threading.BoundedSemaphore(MAX_STREAMS)

    def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        handler = continuation(handler_call_details)
        if handler is None:
            return None
        if self._token is not None and not _bears(handler_call_details.invocation_metadata, self._token):
            return _same_kind(handler, _refusing("this daemon needs the token of its daemon.token file"))
        if handler.response_streaming:
            wrapped = self._streaming(handler.stream_stream or handler.unary_stream)
        else:
            wrapped = _single(handler.stream_unary or handler.unary_unary)
        return _same_kind(handler, wrapped)

    def _streaming(self, behaviour: Callable[[Any, Any], Iterator[Any]]) -> Callable[[Any, Any], Iterator[Any]]:
        def call(request: Any, context: Any) -> Iterator[Any]:
            if not self._streams.acquire(blocking=False):
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"{MAX_STREAMS} streams are open; close some first")
            try:
                yield from behaviour(_well_formed(request, context), context)
            except Exception as error:  # A border: no exception leaves the daemon, and none ends it.
                _abort(error, context)
            finally:
                self._streams.release()

        return call


def _bears(metadata: Any, token: str) -> bool:
    given: Any = next((value for key, value in metadata or () if key == "authorization"), "")
    return hmac.compare_digest(str(given).encode(), f"Bearer {token}".encode())


def _single(behaviour: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def call(request: Any, context: Any) -> Any:
        try:
            return behaviour(_well_formed(request, context), context)
        except Exception as error:  # A border: as above.
            _abort(error, context)

    return call


def _well_formed(request: Any, context: Any) -> Any:
    """The request, or its messages one by one as they are read, where it is a stream."""
    if isinstance(request, _Malformed):
        context.abort(grpc.StatusCode.INVALID_ARGUMENT, request.reason)
    if isinstance(request, Iterator):
        messages = cast("Iterator[Any]", request)
        return (_well_formed(message, context) for message in messages)
    return request


def _abort(error: Exception, context: Any) -> None:
    if context.code() is not None:
        raise error  # It was told already: this is how gRPC's own abort leaves a behaviour.
    if isinstance(error, grpc.RpcError):
        # How a stream of requests ends whose client was killed.
        context.abort(grpc.StatusCode.CANCELLED, "the client is gone")
    for kind, status in STATUS.items():
        if isinstance(error, kind):
            context.abort(status, _sendable(str(error)))
    if isinstance(error, MosaicError):
        context.abort(grpc.StatusCode.INTERNAL, _sendable(str(error)))
    if isinstance(error, (OSError, sqlite3.OperationalError)):
        log.error("rpc.os_error", error=str(error))
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"the daemon's disk or system refused: {error}")
    log.error("rpc.bug", exc_info=error)
    context.abort(
        grpc.StatusCode.INTERNAL, f"a bug in the daemon ({type(error).__name__}); 'mosaic daemon logs' shows it"
    )


def _sendable(message: str) -> str:
    """A status travels in the headers, percent-encoded, and a client drops headers of more than 8 KiB."""
    limit = MAX_DETAILS if message.isascii() else MAX_DETAILS // 9
    return message if len(message) <= limit else f"{message[:limit]}… (cut: {len(message):,} characters in all)"


def _refusing(message: str) -> Callable[[Any, Any], Any]:
    def refuse(_: Any, context: Any) -> Any:
        context.abort(grpc.StatusCode.UNAUTHENTICATED, message)

    return refuse


def _same_kind(handler: Any, behaviour: Any) -> Any:
    makers = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, False): grpc.stream_unary_rpc_method_handler,
        (True, True): grpc.stream_stream_rpc_method_handler,
    }
    make: Any = makers[handler.request_streaming, handler.response_streaming]
    return make(behaviour, _parser(handler), handler.response_serializer)


def _parser(handler: Any) -> Any:
    """gRPC's own answer to bytes that are not a message is "internal error", and a traceback in the log for each."""

    def parse(data: bytes) -> Any:
        try:
            return handler.request_deserializer(data)
        except DecodeError as error:
            return _Malformed(f"the request is not a message of its type: {error}")

    return parse
