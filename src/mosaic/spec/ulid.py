"""Run ids: ULIDs, 26 characters that sort by the time they were made.

48 bits of milliseconds since 1970 and 80 random bits, in Crockford's base 32 (https://github.com/ulid/spec).
"""

import os
import threading
import time

_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_VALUES = {letter: value for value, letter in enumerate(_LETTERS)}
_RANDOM_BITS = 80
_STEP_BITS = 64
_lock = threading.Lock()
_last = 0
"""The newest of now, as a number."""


def new(unix_s: float | None = None) -> str:
    """Of now, or of another time; one that this process makes of now sorts behind all that it made before."""
    if unix_s is not None:
        return _text(int(unix_s * 1000) << _RANDOM_BITS | _random(_RANDOM_BITS))
    global _last
    with _lock:
        fresh = time.time_ns() // 1_000_000 << _RANDOM_BITS | _random(_RANDOM_BITS)
        # By a random number rather than by one: a process that was forked in this millisecond must not make the same.
        _last = fresh if fresh >> _RANDOM_BITS > _last >> _RANDOM_BITS else _last + 1 + _random(_STEP_BITS)
        return _text(_last)


def after(ulid: str) -> str:
    """The one that sorts next behind this one."""
    return _text(_number(ulid) + 1)


def unix_s(ulid: str) -> float:
    """When it was made."""
    return (_number(ulid) >> _RANDOM_BITS) / 1000


def from_bytes(data: bytes) -> str:
    """Of 16 bytes, the first six of which are its time."""
    return _text(int.from_bytes(data))


def _text(number: int) -> str:
    return "".join(_LETTERS[number >> shift & 31] for shift in range(125, -1, -5))


def _number(ulid: str) -> int:
    number = 0
    for letter in ulid:
        number = number << 5 | _VALUES[letter]
    return number


def _random(bits: int) -> int:
    return int.from_bytes(os.urandom(bits // 8))
