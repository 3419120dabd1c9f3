"""The border of the service: who may call, and what a caller sees of an error."""

import hmac
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from mosaic.errors import MosaicError
from mosaic.log import get_logger
from mosaic.trainer.service import STATUS

log = get_logger()


class Guard(grpc.ServerInterceptor):
    """Checks the token where one is needed, and turns every exception into a status with a sentence."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    def intercept_service(self, continuation: Any, handler_call_details: Any) -> Any:
        handler = continuation(handler_call_details)
        if handler is None:
            return None
        if self._token is not None and not _bears(handler_call_details.invocation_metadata, self._token):
            return _refusing(handler, "this daemon needs the token of its daemon.token file")
        if handler.response_streaming:
            wrapped = _streaming(handler.stream_stream or handler.unary_stream)
        else:
            wrapped = _single(handler.stream_unary or handler.unary_unary)
        return _same_kind(handler, wrapped)


def _bears(metadata: Any, token: str) -> bool:
    given: Any = next((value for key, value in metadata or () if key == "authorization"), "")
    return hmac.compare_digest(str(given).encode(), f"Bearer {token}".encode())


def _single(behaviour: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def call(request: Any, context: Any) -> Any:
        try:
            return behaviour(request, context)
        except Exception as error:  # A border: no exception leaves the daemon, and none ends it.
            _abort(error, context)

    return call


def _streaming(behaviour: Callable[[Any, Any], Iterator[Any]]) -> Callable[[Any, Any], Iterator[Any]]:
    def call(request: Any, context: Any) -> Iterator[Any]:
        try:
            yield from behaviour(request, context)
        except Exception as error:  # A border: as above.
            _abort(error, context)

    return call


def _abort(error: Exception, context: Any) -> None:
    for kind, status in STATUS.items():
        if isinstance(error, kind):
            context.abort(status, str(error))
    if isinstance(error, MosaicError):
        context.abort(grpc.StatusCode.INTERNAL, str(error))
    if isinstance(error, OSError):
        log.error("rpc.os_error", error=str(error))
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, f"the daemon's disk or system refused: {error}")
    log.error("rpc.bug", exc_info=error)
    context.abort(
        grpc.StatusCode.INTERNAL, f"a bug in the daemon ({type(error).__name__}); 'mosaic daemon logs' shows it"
    )


def _refusing(handler: Any, message: str) -> Any:
    def refuse(_: Any, context: Any) -> Any:
        context.abort(grpc.StatusCode.UNAUTHENTICATED, message)

    return _same_kind(handler, refuse)


def _same_kind(handler: Any, behaviour: Any) -> Any:
    makers = {
        (False, False): grpc.unary_unary_rpc_method_handler,
        (False, True): grpc.unary_stream_rpc_method_handler,
        (True, False): grpc.stream_unary_rpc_method_handler,
        (True, True): grpc.stream_stream_rpc_method_handler,
    }
    make: Any = makers[handler.request_streaming, handler.response_streaming]
    return make(behaviour, handler.request_deserializer, handler.response_serializer)
