"""Run ids: ULIDs, 26 characters that sort by the time they were made.

48 bits of milliseconds since 1970 and 80 random bits, in Crockford's base 32 (https://github.com/ulid/spec).
"""

import os
import time

_LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_VALUES = {letter: value for value, letter in enumerate(_LETTERS)}
_RANDOM_BITS = 80


def new(unix_s: float | None = None) -> str:
    """Of now, or of another time."""
    at_ms = time.time_ns() // 1_000_000 if unix_s is None else int(unix_s * 1000)
    return _text(at_ms << _RANDOM_BITS | int.from_bytes(os.urandom(_RANDOM_BITS // 8)))


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
