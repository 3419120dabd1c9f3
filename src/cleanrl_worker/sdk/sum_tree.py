"""Drawing places in proportion to their priorities: a binary tree of sums over an array of them, in numpy.

`nodes[1]` is the sum of all, node i has the children 2i and 2i + 1, the priorities are the last level. A node is always
the sum of its children in that order, so the tree is a function of the priorities alone, bit for bit.
"""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


class SumTree:
    def __init__(self, size: int) -> None:
        self._size = size
        self._leaves = 1 << max(size - 1, 1).bit_length()
        self._nodes = np.zeros(2 * self._leaves)

    @property
    def total(self) -> float:
        return float(self._nodes[1])

    @property
    def priorities(self) -> Array:
        return self._nodes[self._leaves : self._leaves + self._size]

    def put(self, places: Array, priorities: Array | float) -> None:
        """Set some priorities; of a place that is named twice the last one counts."""
        nodes = np.asarray(places) + self._leaves
        self._nodes[nodes] = priorities
        while nodes.size and nodes[0] > 1:
            nodes = np.unique(nodes >> 1)
            self._nodes[nodes] = self._nodes[2 * nodes] + self._nodes[2 * nodes + 1]

    def draw(self, generator: np.random.Generator, count: int) -> Array:
        """`count` places, one from each of as many equal parts of the sum."""
        heights = (np.arange(count) + generator.random(count)) / count * self.total
        nodes = np.ones(count, np.int64)
        while nodes[0] < self._leaves:
            nodes <<= 1
            left = self._nodes[nodes]
            # Rounding may leave a height a little above what is there: never into a branch without priority.
            right = (heights >= left) & (self._nodes[nodes + 1] > 0)
            heights -= np.where(right, left, 0.0)
            nodes += right
        return nodes - self._leaves

    def load(self, priorities: Array) -> None:
        """Take over `priorities`, all of them."""
        self.put(np.arange(self._size), priorities)
