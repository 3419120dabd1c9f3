"""Numbers that are right up to rounding: the guard asks what a fast path makes of others that are as right."""

import numpy as np

from cleanrl_worker.sdk.fast.networks.flat_parameters import Floats

ENDS = np.array([-1, 1], np.float32)


def disturbed(squashed: Floats, generator: np.random.Generator) -> Floats:
    """Values of tanh with another last bit. Near 1 that bit is a large part of 1 - y², which gradients are made of."""
    return np.nextafter(squashed, generator.choice(ENDS, squashed.shape))
