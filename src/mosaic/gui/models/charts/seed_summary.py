"""The seeds of a group as one curve: how the window calls it. `mosaic.statistics.seed_curves` says how it is made.

Smoothing comes before, on each seed's own points.
"""

from mosaic.statistics.enough_seeds import FEWEST, trust
from mosaic.statistics.seed_curves import BANDS, Middle
from mosaic.statistics.seed_curves import Summary as Summary
from mosaic.statistics.seed_curves import interpolated as interpolated
from mosaic.statistics.seed_curves import summary as summary


def note_of(middle: Middle, n: int) -> str:
    """What a legend says of the curve: the statistic, its band and how many seeds; or why there is no band."""
    if trust(n) == "none":
        return f"{middle}, n = {n}: every seed, no band below {FEWEST}"
    rough = " (rough)" if trust(n) == "rough" else ""
    return f"{middle} {BANDS[middle]}{rough}, n = {n}"
