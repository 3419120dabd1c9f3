"""Settings of a CleanRL run, from the text that it shows in TensorBoard or from W&B's config."""

import ast
import json
import re
from collections.abc import Mapping
from typing import Any

from mosaic.spec.processes.secret_keys import is_secret_name

_ROW = re.compile(r"^\|([^|]+)\|(.*)\|\s*$")
OUTSIDE = frozenset({"env_id", "seed", "total_timesteps", "exp_name", "algo"})
"""What stands beside the hyperparameters in a run config."""
NOT_LEARNING = re.compile(
    r"(track|capture_video|save_model|upload_model|hf_entity|fastlane_\w+|video_mode|grid_limit|mosaic|_wandb|wandb_\w+)$"
)
"""What does not change the learning curve."""


def of_table(text: str) -> dict[str, Any]:
    """CleanRL's markdown table `|param|value|`; anything else is not such a table."""
    rows = [match for line in text.splitlines() if (match := _ROW.match(line))]
    pairs = {row[1].strip(): value(row[2].strip()) for row in rows}
    pairs.pop("param", None)
    return {name: found for name, found in pairs.items() if not set(name) <= {"-", ":", " "}}


def value(text: str) -> Any:
    """`0.01`, `True`, `None` and lists as what they are; any other text as it is."""
    try:
        found = ast.literal_eval(text)
        json.dumps(found, allow_nan=False)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
    return list(found) if isinstance(found, tuple) else found  # type: ignore[reportUnknownArgumentType]


def hyperparameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The part that is an algorithm's own, without what is named like a secret: a config of ours holds none."""
    chosen = {name: one for name, one in settings.items() if name not in OUTSIDE and not NOT_LEARNING.match(name)}
    return {name: one for name, one in chosen.items() if not is_secret_name(name)}


def whole_number(settings: Mapping[str, Any], name: str, otherwise: int) -> int:
    match settings.get(name):
        case bool():
            return otherwise
        case int(found) if 0 <= found < 2**53:
            return found
        case float(found) if 0 <= found < 2**53:
            return int(found)
        case _:
            return otherwise


def text(settings: Mapping[str, Any], *names: str, otherwise: str) -> str:
    return next((found for name in names if isinstance(found := settings.get(name), str) and found), otherwise)
