"""Columns that grow at the end without being copied each time."""

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", np.float64, np.int64)


class Growing(Generic[T]):
    """A table of a few rows; what was handed out stays as it was when more is added."""

    def __init__(self, rows: int, dtype: type[T]) -> None:
        self._rows, self._dtype = rows, dtype
        self._data: NDArray[T] = np.empty((rows, 256), dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def row(self, index: int) -> NDArray[T]:
        return self._data[index, : self._length]

    def extend(self, *rows: object) -> None:
        """Add to each row; all by as much."""
        added = np.asarray(rows, self._dtype)
        end = self._length + added.shape[1]
        if end > self._data.shape[1]:
            grown = np.empty((self._rows, max(end, 2 * self._data.shape[1])), self._dtype)
            grown[:, : self._length] = self._data[:, : self._length]
            self._data = grown
        self._data[:, self._length : end] = added
        self._length = end
