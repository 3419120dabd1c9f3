"""Student's t: its distribution and its quantiles, for any number of degrees of freedom.

The distribution is the regularised incomplete beta function, evaluated as a continued fraction with Lentz's method
(Abramowitz & Stegun 26.5.8 and 26.7.1). The quantile is found by bisection, so that it is as exact as the distribution.
"""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

TINY = 1e-300
MANY = 1e7
"""Degrees of freedom above which t is taken for normal."""
TABULATED = 200
"""Degrees of freedom up to which `quantiles` are exact; beyond, an expansion differs by less than 1e-9."""


def distribution(t: float, freedom: float) -> float:
    """P(T ≤ t)."""
    if freedom > MANY:
        return 0.5 * math.erfc(-t / math.sqrt(2))
    tail = 0.5 * _incomplete_beta(freedom / (freedom + t * t), freedom / 2, 0.5)
    return 1 - tail if t > 0 else tail


@lru_cache(maxsize=4096)
def quantile(p: float, freedom: float) -> float:
    """The t below which a share `p` of the distribution lies."""
    if not 0 < p < 1 or not freedom > 0:
        raise ValueError(f"no quantile {p} of t with {freedom} degrees of freedom")
    if p < 0.5:
        return -quantile(1 - p, freedom)
    low, high = 0.0, 1.0
    while distribution(high, freedom) < p:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if distribution(middle, freedom) < p else (low, middle)
    return (low + high) / 2


def quantiles(p: float, freedom: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of many numbers of degrees of freedom at once, each at least 1."""
    exact = np.array([quantile(p, float(each)) for each in range(1, TABULATED + 1)])
    z = quantile(p, 2 * MANY)
    nu = np.maximum(freedom, TABULATED).astype(np.float64)
    # Cornish–Fisher (Abramowitz & Stegun 26.7.5).
    far = (
        z
        + (z**3 + z) / (4 * nu)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * nu**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * nu**3)
    )
    return np.where(freedom <= TABULATED, exact[np.minimum(freedom, TABULATED) - 1], far)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """I_x(a, b)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    # The fraction converges fast on this side of the mean only.
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x) - math.log(a)
    )
    return front * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1 / _kept_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for part in (even, odd):
            d = 1 / _kept_from_zero(1 + part * d)
            c = _kept_from_zero(1 + part / c)
            value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value


def _kept_from_zero(value: float) -> float:
    return value if abs(value) > TINY else TINY
