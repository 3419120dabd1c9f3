"""Where the marks of an axis of time lie, and what they say."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime

_SPACINGS_S = (
    *(1, 2, 5, 10, 15, 30),
    *(60 * minutes for minutes in (1, 2, 5, 10, 15, 30)),
    *(3600 * hours for hours in (1, 2, 3, 6, 12)),
    *(86400 * days for days in (1, 2, 5, 10, 30, 100, 365)),
)


_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def time_ticks(low_s: float, high_s: float, most: int, *, is_clock: bool) -> tuple[float, Sequence[float]]:
    """Spacing and places of at most about `most` marks; those of a clock lie on its hours and days."""
    wanted = (high_s - low_s) / max(most, 1)
    spacing = next((spacing for spacing in _SPACINGS_S if spacing >= wanted), _SPACINGS_S[-1])
    if wanted < 0.5:
        spacing = 10.0 ** math.ceil(math.log10(max(wanted, 1e-9)))
    offset = _utc_offset_s(low_s) if is_clock else 0.0
    first = math.ceil((low_s + offset) / spacing)
    last = math.floor((high_s + offset) / spacing)
    return spacing, [place * spacing - offset for place in range(first, min(last, first + 1000) + 1)]


def span_text(seconds: float, spacing_s: float) -> str:
    """A time since the start, as short as its neighbours allow."""
    if spacing_s < 1:
        return f"{seconds:.{max(0, -math.floor(math.log10(spacing_s)))}f} s"
    whole = round(seconds)
    if abs(whole) < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}:{rest:02}" if spacing_s % 60 else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02}" if spacing_s % 3600 else f"{hours} h"
    return f"{hours / 24:g} d" if spacing_s % 86400 == 0 else f"{hours // 24} d {hours % 24} h"


def clock_text(unix_s: float, spacing_s: float) -> str:
    """The local time, as short as its neighbours allow; midnight is told by its date."""
    local = _local(unix_s)
    if spacing_s >= 86400 or (local.hour, local.minute, local.second) == (0, 0, 0):
        return local.strftime("%d %b").lstrip("0")
    if spacing_s >= 60:
        return local.strftime("%H:%M")
    return local.strftime("%H:%M:%S") + (f".{local.microsecond // 1000:03}" if spacing_s < 1 else "")


def _local(unix_s: float) -> datetime:
    return datetime.fromtimestamp(unix_s, UTC).astimezone()


def _utc_offset_s(unix_s: float) -> float:
    # A view may reach beyond the years that a clock knows.
    offset = _local(min(max(unix_s, 0.0), 4e9)).utcoffset()
    return offset.total_seconds() if offset else 0.0


def number_text(value: float, spacing: float) -> str:
    """A value on an axis whose marks are so far apart: as short as its neighbours allow, and never as theirs."""
    size = abs(value)
    if size < spacing / 2:
        return "0"
    if size < 1e-3:
        digits = math.floor(math.log10(size) + 1e-9) - math.floor(math.log10(spacing) + 1e-9)
        mantissa, exponent = f"{value:.{min(max(digits, 0), 12)}e}".split("e")
        return f"{_short(mantissa)}e{int(exponent)}"
    unit, letter = next(((unit, letter) for unit, letter in _UNITS if size >= unit), (1.0, ""))
    decimals = math.ceil(-math.log10(spacing / unit) - 1e-9)
    return f"{_short(f'{value / unit:.{min(max(decimals, 0), 12)}f}')}{letter}"


def _short(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def apart(spans: Sequence[tuple[float, float]], gap: float) -> list[int]:
    """Which of these texts, from where to where each goes, have room beside one another; the first ones do."""
    kept: list[int] = []
    for place, (begin, end) in enumerate(spans):
        if all(begin >= spans[other][1] + gap or end + gap <= spans[other][0] for other in kept):
            kept.append(place)
    return kept


def log_ticks(low: float, high: float, most: int) -> Sequence[float]:
    """Decimal logarithms to mark between two of them: decades, with 2 and 5 between where there is room, and evenly
    spaced values within less than a decade."""
    low, high = max(low, -300.0), min(high, 300.0)  # what a float can be
    if low >= high:
        return []
    decades = range(math.floor(low), math.ceil(high) + 1)
    every = max(1, math.ceil(len(decades) / max(most, 1)))
    for digits in ((1, 2, 5), (1,)) if every == 1 else ((1,),):
        ticks = [decade + math.log10(digit) for decade in decades if decade % every == 0 for digit in digits]
        inside = [tick for tick in ticks if low <= tick <= high]
        if 2 <= len(inside) <= max(most, 2):
            return inside
    if high - low > 1:
        return [float(decade) for decade in decades if decade % every == 0 and low <= decade <= high]
    bottom, top = 10**low, 10**high
    step = 10 ** math.floor(math.log10((top - bottom) / max(most, 2)))
    step *= next(factor for factor in (1, 2, 5, 10) if (top - bottom) / (factor * step) <= most)
    return [math.log10(n * step) for n in range(math.ceil(bottom / step), math.floor(top / step) + 1) if n > 0]
