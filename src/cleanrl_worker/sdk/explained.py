"""What an agent makes of one observation, in the words of the live view: for the function of `run.explain_with`."""

from typing import Any

import torch


def of_choices(logits: torch.Tensor, value: torch.Tensor) -> dict[str, Any]:
    """The probability of each action, of which one is chosen, and the value; of batches of one row."""
    return {"probabilities": logits.softmax(1)[0].tolist(), **of_value(value)}


def of_worths(values: torch.Tensor) -> dict[str, Any]:
    """What each action is worth, and the best of them."""
    return {"values": values[0].tolist(), "value": float(values.max())}


def of_value(value: torch.Tensor) -> dict[str, Any]:
    """The value alone, for actions that are vectors."""
    return {"value": float(value.reshape(-1)[0])}
