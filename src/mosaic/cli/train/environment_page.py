"""What `mosaic envs ENV` shows of one environment: what it takes and shows, and its settings."""

import textwrap
from collections.abc import Mapping
from typing import Any

from mosaic.cli.terminal.printing import columns, paint
from mosaic.spec.catalogue.known_environments import Found
from mosaic.spec.setting_values import shown, wanted
from mosaic.spec.wrappers import SETTING

INDENT = 4


def as_json(found: Found) -> dict[str, Any]:
    """With the JSON Schema of the settings; null if only a worker can tell."""
    names = ("env_id", "family", "actions", "observations", "action_space", "observation_space", "settings")
    return {name: getattr(found, name) for name in names}


def lines_of(found: Found) -> list[str]:
    lines = [f"{paint(found.env_id, 'bold')}  {found.family}"]
    for name, text in (
        ("actions", found.action_space or found.actions),
        ("observations", found.observation_space or found.observations),
    ):
        if text:
            lines.append(f"  {name:<14}{text}")
    if found.settings is None:
        return [
            *lines,
            "  settings      known to a worker only; --env.NAME VALUE and --env-kwargs JSON are checked there",
        ]
    properties: Mapping[str, Any] = found.settings["properties"]
    lines.append(f"  settings      {'--env.NAME VALUE, or --env-kwargs JSON' if properties else 'none'}")
    for name, one in properties.items():
        if name != SETTING:
            lines += _lines_of_setting(name, one)
    if SETTING in properties:
        how = "--wrap NAME:ARGUMENT=VALUE, the innermost first; 'mosaic envs wrappers' lists Gymnasium's"
        lines.append(f"  wrappers      {how}")
    if found.settings.get("additionalProperties"):
        lines.append("    others are handed to its constructor as they are")
    return lines


def _lines_of_setting(name: str, one: Mapping[str, Any]) -> list[str]:
    default = f" = {shown(one['default'])}" if "default" in one else ""
    about = f"{one['description']} " if "description" in one else ""
    text = f"{about}({_short(wanted(one))})"
    head = f"{' ' * INDENT}{paint(f'--env.{name}', 'bold')}{default}"
    return [head, *(f"{' ' * INDENT * 2}{line}" for line in textwrap.wrap(text, max(columns() - INDENT * 2, 40)))]


def _short(text: str) -> str:
    """Atari games have up to a hundred modes."""
    return text if len(text) <= 200 else f"{text[:200]} …"


def printed(found: Found) -> str:
    return "\n".join(lines_of(found))
