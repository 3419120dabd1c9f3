"""Numbers that algorithms log and do not learn by."""

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def explained_variance(values: Array, returns: Array) -> float:
    """1 is a critic that foretells every return, 0 one that knows nothing; not a number while all returns are equal."""
    variance = float(np.var(returns))
    return float("nan") if variance == 0 else 1.0 - float(np.var(returns - values)) / variance
