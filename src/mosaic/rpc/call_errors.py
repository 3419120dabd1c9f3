"""gRPC's errors as ours: the daemon refused with a reason, or it does not answer."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import grpc

from mosaic.errors import MosaicError
from mosaic.rpc.locate import DaemonUnavailable

P = ParamSpec("P")
R = TypeVar("R")
AWAY = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED)
"""Cancelled: not by us, but by a daemon that was ended while it answered."""


class Refused(MosaicError):
    """The daemon answered with a reason."""

    def __init__(self, message: str, status: str) -> None:
        super().__init__(message)
        self.status = status
        # Bad input, unless something is not installed, or the daemon's disk or the daemon itself is to blame.
        self.exit_code = {"UNIMPLEMENTED": 3, "RESOURCE_EXHAUSTED": 4, "INTERNAL": 1}.get(status, 2)

    @property
    def sentence(self) -> str:
        """A single problem of a config stands on one line, as where the command line finds it itself."""
        head, _, problem = str(self).partition(": 1 problem\n  ")
        return f"{head}: {problem}" if problem and "\n" not in problem else str(self)


def translated(call: Callable[P, R]) -> Callable[P, R]:
    """gRPC's errors as ours."""

    @wraps(call)
    def translated(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except grpc.RpcError as error:
            raise ours(error) from None
        except ValueError as error:
            if str(error).startswith("Value out of range"):  # as protobuf says it
                number = str(error).rpartition(" ")[2]
                raise Refused(f"the number {number} does not fit into a request", "INVALID_ARGUMENT") from None
            if not str(error).startswith("Cannot invoke RPC"):  # as gRPC says that the channel was closed
                raise
            raise DaemonUnavailable("this connection to the daemon was closed; make a new Client") from None

    return translated


def ours(error: Any) -> MosaicError:
    status = error.code()
    if status in AWAY:
        return DaemonUnavailable(f"the daemon does not answer ({error.details()}); 'mosaic daemon status' looks")
    return Refused(error.details(), status.name)
