"""Prompts: a text with `$placeholders` for each family; above its line `---` is what is said once, below it each step.

`$environment $actions $known $observation $step $last $answer` are filled in; `$$` is a dollar.
"""

import base64
import io
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from mosaic.envs import facts
from mosaic.errors import ActorFailed
from mosaic.play.actor import Outcome, View
from mosaic.play.arenas.arena import Arena
from mosaic.play.json_values import to_json

SHIPPED = Path(__file__).with_name("prompts")
PLACEHOLDERS = ("environment", "actions", "known", "observation", "step", "last", "answer")
LINE = "---"
MAX_NUMBERS = 256
"""Observations of more numbers than this are not spelled out."""
MAX_PIXELS = 512
"""Pictures are made no wider and no higher than this."""
ANSWER = 'Answer with a JSON object: {"reason": "why, in one short sentence", "action": …}'


@dataclass(frozen=True)
class Prompt:
    """What is said at first, and what is said at each step."""

    system: Template
    turn: Template


def load(file: str, family: str) -> Prompt:
    """The file that was named, the family's, or the general one."""
    shipped = SHIPPED / f"{family}.txt"
    path = Path(file).expanduser() if file else shipped if shipped.is_file() else SHIPPED / "general.txt"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ActorFailed(f"the prompt {path} cannot be read: {error}") from error
    head, line, turn = text.partition(f"\n{LINE}\n")
    if not line:
        raise ActorFailed(
            f"the prompt {path} has no line '{LINE}' between what is said once and what is said each step"
        )
    made = Prompt(Template(head.strip()), Template(turn.strip()))
    unknown = {name for part in (made.system, made.turn) for name in part.get_identifiers()} - set(PLACEHOLDERS)
    if unknown or not (made.system.is_valid() and made.turn.is_valid()):
        wrong = ", ".join(f"${name}" for name in sorted(unknown)) or "a lone $"
        raise ActorFailed(
            f"the prompt {path} has {wrong}; it may have {', '.join(f'${each}' for each in PLACEHOLDERS)}"
        )
    return made


def spelled(arena: Arena, observation: Any) -> str:
    """An observation in words."""
    found = facts.seen(arena, observation)
    if found:
        return "\n".join(f"- {fact}" for fact in found)
    if np.asarray(observation, dtype=object).size == 1 or np.size(observation) <= MAX_NUMBERS:
        return str(to_json(observation))
    return f"(an array of shape {np.shape(observation)}, not spelled out)"


def told(outcome: Outcome | None, name: str) -> str:
    """What came of the last action."""
    return "This is the first step." if outcome is None else f"Your last action {name} earned {outcome.reward:g}."


def picture_of(view: View, arena: Arena) -> Any:
    """The observation where it is a picture, else what was rendered."""
    seen = np.asarray(view.observation) if not isinstance(view.observation, dict | tuple | str) else None
    if seen is not None and seen.dtype == np.uint8 and seen.ndim in (2, 3):
        return seen
    if view.picture is None:
        raise ActorFailed(f"image is set, but there is no picture: {arena.pictures_problem or 'none was rendered'}")
    return view.picture


def as_url(picture: Any) -> str:
    """A PNG in the address itself, as the protocol takes pictures."""
    from PIL import Image

    image = Image.fromarray(np.squeeze(np.asarray(picture, dtype=np.uint8)))
    image.thumbnail((MAX_PIXELS, MAX_PIXELS))
    file = io.BytesIO()
    image.save(file, format="PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
