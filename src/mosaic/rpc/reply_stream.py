"""What the daemon sends one after the other, as an iterator that any thread can end."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import grpc

from mosaic.rpc.call_errors import ours

T = TypeVar("T")


class Stream(Generic[T]):
    """What the daemon sends, one after the other."""

    def __init__(self, call: Any, convert: Callable[[Any], T | None]) -> None:
        """What `convert` makes None of is left out."""
        self._call = call
        self._convert = convert
        self._stopped = False

    def __iter__(self) -> "Stream[T]":
        return self

    def __next__(self) -> T:
        try:
            while True:
                made = self._convert(next(self._call))
                if made is not None:
                    return made
        except grpc.RpcError as error:
            if self._stopped:
                raise StopIteration from None
            raise ours(error) from None

    def stop(self) -> None:
        """End it, from any thread and without waiting; its reader gets its end."""
        self._stopped = True
        self._call.cancel()
