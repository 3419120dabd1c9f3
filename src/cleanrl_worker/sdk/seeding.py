"""Every random number generator of a process: seeded in upstream's order, captured and put back whole."""

import random
from typing import Any

import numpy as np
import torch


def seed_all(seed: int, *, torch_deterministic: bool) -> None:
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)
    torch.backends.cudnn.deterministic = torch_deterministic


def capture(generator: np.random.Generator) -> dict[str, Any]:
    """The state of python, numpy (legacy and ours) and torch, as a tree of arrays and numbers."""
    version, internal, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state()
    return {
        "python": {"version": version, "internal": list(internal), "gauss": gauss},
        "numpy_legacy": {"name": name, "keys": keys, "position": position, "has_gauss": has_gauss, "cached": cached},
        "numpy": generator.bit_generator.state,
        "torch": torch.get_rng_state(),
        "cuda": list(torch.cuda.get_rng_state_all()) if torch.cuda.is_available() else [],
    }


def restore(state: dict[str, Any], generator: np.random.Generator) -> None:
    python, legacy = state["python"], state["numpy_legacy"]
    random.setstate((python["version"], tuple(python["internal"]), python["gauss"]))
    np.random.set_state(
        (legacy["name"], legacy["keys"], legacy["position"], legacy["has_gauss"], legacy["cached"])  # type: ignore[arg-type]
    )
    generator.bit_generator.state = state["numpy"]
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
