"""Numbers as users type them: 1e6, 10M, 2.5e-4, 1_000_000, 50k; what is shown reads back to the very same number."""

import math
import re
from collections.abc import Iterable
from decimal import Decimal

LONGEST = 400
"""Characters of a number; no float needs more."""
HIGHEST_EXPONENT = 308
FAR = 100_000
_NUMBER = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?\s*([kKmMgG]?)", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?\s*[kKmMgG]?", re.ASCII)
_GAPS = re.compile(r"(?<=\d)[_\u00a0\u2009\u202f ](?=\d)")
_POWERS = {"": 0, "k": 3, "m": 6, "g": 9}
_NO_NUMBERS = frozenset({"nan", "inf", "infinity"})


def parse_float(text: str) -> float:
    """ValueError says what is wrong with the text."""
    digits, exponent = _split(text)
    value = float(f"{digits}e{exponent}")
    if math.isinf(value):
        raise ValueError("is too large")
    if value == 0 and Decimal(digits) != 0:
        raise ValueError("is too small: it would become 0")
    return value


def parse_int(text: str) -> int:
    """1e6 and 2.5k are whole numbers, 0.5 is not."""
    digits, exponent = _split(text)
    exact = Decimal(f"{digits}e{exponent}")
    if exact and exact.adjusted() > HIGHEST_EXPONENT:
        raise ValueError("is too large")
    if exact != exact.to_integral_value():
        raise ValueError("must be a whole number")
    return int(exact) if exact else 0


def show_number(value: float) -> str:
    """10,000,000; 0.00025; 1e-5."""
    if isinstance(value, int) or (value.is_integer() and abs(value) < 1e15):
        return f"{int(value):,}"
    mantissa, e, exponent = repr(value).partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa


def decimals(values: Iterable[float]) -> int:
    """Digits behind the point by which numbers of a column can be told apart: 1 of returns in hundreds, 3 below one."""
    finite = [value for value in values if math.isfinite(value)]
    size = max(finite, default=0.0) - min(finite, default=0.0) or max(map(abs, finite), default=0.0)
    return min(max(2 - math.floor(math.log10(size)), 1), 9) if size > 0 else 1


def _split(text: str) -> tuple[str, int]:
    """Sign and digits, and the power of ten."""
    cleaned = text.strip().replace("\u2212", "-")
    if not cleaned:
        raise ValueError("must not be empty")
    if len(cleaned) > LONGEST:
        raise ValueError(f"is too long: {len(cleaned):,} characters")
    if cleaned.lstrip("+-").lower() in _NO_NUMBERS:
        raise ValueError("must be a finite number")
    if _THOUSANDS.fullmatch(cleaned):
        cleaned = cleaned.replace(",", "")
    match = _NUMBER.fullmatch(_GAPS.sub("", cleaned))
    if match is None:
        raise ValueError("is not a number; write 1e6, 10M or 2.5e-4")
    sign, digits, exponent, unit = match.groups()
    # An exponent of hundreds of digits is too large or too small as a clamped one is.
    power = max(-FAR, min(FAR, int(exponent or 0)))
    return sign + digits, power + _POWERS[unit.lower()]
