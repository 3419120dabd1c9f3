"""What a daemon or a worker says about a config, taken apart: which problem belongs to which field."""

import re
from collections.abc import Iterable, Mapping

from mosaic.errors import Problem
from mosaic.gui.models.form.schema_fields import ENVIRONMENT_SETTINGS

_HEAD = re.compile(r"(?:error: )?(?:.*: )?\d+ problems?")
_LINE = re.compile(r"  (?:(?P<path>[A-Za-z_-][\w.-]*): )?(?P<message>.*)")
RAISED = "Value error, "
"""What pydantic puts before the sentence of a rule in code."""
_TRACEBACK = "Traceback (most recent call last):"
_OF_ENVIRONMENT = re.compile(r"(?:--)?env\.(\w+)")
"""`--env.is_slippery`, or without dashes."""
_FIRST_WORD = re.compile(r"(\w+)\b")


def problems_in(text: str) -> list[Problem]:
    """The problems that a message lists ("submit: 2 problems" and a line for each), or the whole message as one."""
    lines = text.strip().splitlines()
    start = next((place for place, line in enumerate(lines) if _HEAD.fullmatch(line)), None)
    if start is not None:
        found = [match for line in lines[start + 1 :] if (match := _LINE.fullmatch(line))]
        if found:
            return [Problem(match["path"] or "", match["message"].removeprefix(RAISED)) for match in found]
    # A worker may have printed a lot before it gave up: the error is what it ended with.
    errors = [line for line in lines if line.startswith("error: ")]
    # Of a crash the last line says what went wrong; the Dry runs tab has all of it.
    said = errors[-1] if errors else lines[-1] if _TRACEBACK in lines else text.strip()
    return [Problem("", said.removeprefix("error: "))]


def field_of(
    problem: Problem, fields: Iterable[str], *, derived: Mapping[str, str], words: Mapping[str, str]
) -> str | None:
    """The path of the field that a problem belongs to; None if it is about the whole.

    `derived` are other paths of what a field says, `words` tell by what a sentence without a path mentions.
    """
    known = list(fields)
    path = derived.get(problem.path, problem.path)
    if path in known:
        return path
    if (setting := _OF_ENVIRONMENT.fullmatch(path)) is not None:
        inside = f"{ENVIRONMENT_SETTINGS}.{setting[1]}"
        return inside if inside in known else ENVIRONMENT_SETTINGS if ENVIRONMENT_SETTINGS in known else None
    # A rule in code has the path of the whole, or none, but its sentence begins with the name of a setting.
    first = _FIRST_WORD.match(problem.message)
    for name in (path.lstrip("-").replace("-", "_"), first[1] if first else ""):
        ending = [one for one in known if name and f".{one}".endswith(f".{name}")]
        if len(ending) == 1:
            return ending[0]
    return next((field for word, field in words.items() if word and word in problem.message), None)
