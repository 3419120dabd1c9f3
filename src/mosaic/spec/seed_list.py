"""Seeds of a group as users type them: 1-5, or 1,2,7."""

import re

MAX_SEED = 2**32 - 1
MAX_SEEDS = 1000
_PART = re.compile(r"(\d{1,10})(?:-(\d{1,10}))?")


def parse_seeds(text: str) -> list[int]:
    """In the order given; none for an empty text. ValueError says what is wrong with it."""
    seeds: list[int] = []
    for part in filter(None, text.replace(" ", "").split(",")):
        match = _PART.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if first > last or last > MAX_SEED or last - first >= MAX_SEEDS:
            raise ValueError(f"'{part[:40]}' is not a seed or range of at most {MAX_SEEDS}; write 1-5 or 1,2,7")
        seeds += range(first, last + 1)
    if len(set(seeds)) < len(seeds):
        raise ValueError("names a seed twice")
    if text.strip() and not seeds:
        raise ValueError("names no seed; write 1-5 or 1,2,7")
    if len(seeds) > MAX_SEEDS:
        raise ValueError(f"names {len(seeds):,} seeds, more than {MAX_SEEDS:,}")
    return seeds
