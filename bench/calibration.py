"""What this machine does in the time that is measured: a fixed piece of Python work, timed in the same run.

A figure in seconds says as much about the machine as about the code. Held against this, it is the same on a slow and on
a fast one.
"""

import time

ROUNDS = 5


def unit_s() -> float:
    """Processor seconds of the piece of work; the least of a few, because nothing makes it quicker than it is."""
    return min(_once() for _ in range(ROUNDS))


def _once() -> float:
    began = time.thread_time()
    words = {f"key {number}": number for number in range(60_000)}
    total = sum(len(word) + number for word, number in sorted(words.items(), key=lambda item: -item[1]))
    assert total > 0
    return time.thread_time() - began
