"""What an environment is like with settings and wrappers, and which wrappers cannot be put around it.

`Kinds` has `actions`, `action_space`, `observations` and `observation_space` of an environment as a catalogue has them;
what is not known is empty. The catalogue says of each of Gymnasium's wrappers what it needs, changes and gives
(`mosaic.envs.wrapping.wrapper_schema`); with the others everything may be different.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import prod
from typing import Any

from mosaic.errors import Problem
from mosaic.spec import setting_values, wrappers
from mosaic.spec.environment_settings import Schema, Settings, flag_of
from mosaic.spec.wrappers import Known, Wrapper

Kinds = Mapping[str, str]
_SPACES = {"actions": "action_space", "observations": "observation_space"}
_EVERY = ("actions", "observations", "rewards")
_SAID = {
    "actions": {("continuous",): "continuous actions"},
    "observations": {
        ("pixels",): "pictures (uint8, from 0 to 255)",
        ("composite",): "a Dict or a Tuple",
        ("vector", "pixels"): "an array of numbers (Box)",
    },
}
_HAS = {"actions": "has", "observations": "shows"}
_SHAPE = re.compile(r"\((\d+(?:, ?\d+)*),?\), \w+\)$")
"""At the end of how Gymnasium writes a Box: `Box(-1.0, 1.0, (3, 4), float32)`."""
_INFINITE = re.compile(r"\binf\b")


def kinds_with(settings: Settings, schema: Schema, kinds: Kinds) -> dict[str, str]:
    """As an algorithm meets it; `schema` is that of the settings."""
    found, known = _kinds_inside(settings, schema, kinds), known_wrappers(schema)
    for wrapper in wrappers.of(settings):
        found = _behind(wrapper, known.get(wrapper.name, {}), found)
    return found


def misfits(settings: Settings, schema: Schema, kinds: Kinds, *, env_id: str) -> Iterator[Problem]:
    """The first wrapper that is known not to fit; those around it are around nothing."""
    found, known = _kinds_inside(settings, schema, kinds), known_wrappers(schema)
    for at, wrapper in enumerate(wrappers.of(settings)):
        about = known.get(wrapper.name, {})
        reason = _misfit(wrapper, about, found, env_id=f"{env_id} with the wrappers before it" if at else env_id)
        if reason:
            yield Problem(wrappers.FLAG, reason)
            return
        found = _behind(wrapper, about, found)


def not_for_pictures(settings: Settings, schema: Schema) -> Iterator[Problem]:
    """Settings and wrappers that an algorithm with convolutions cannot have."""
    for name, value in wrappers.without(settings).items():
        about = schema["properties"].get(name, {})
        kinds = [about, *(one for one in about.get("anyOf", ()) if setting_values.fits(value, one))]
        if reason := next((one["not_for_pictures"] for one in kinds if "not_for_pictures" in one), ""):
            yield Problem(flag_of(name), reason)
    for wrapper in wrappers.of(settings):
        if reason := known_wrappers(schema).get(wrapper.name, {}).get("not_for_pictures"):
            yield Problem(wrappers.FLAG, f"{wrapper.name} {reason}; leave it out")


def known_wrappers(schema: Schema) -> Known:
    return schema["properties"].get(wrappers.SETTING, {}).get("known", {})


def _kinds_inside(settings: Settings, schema: Schema, kinds: Kinds) -> dict[str, str]:
    """Within the wrappers."""
    found = dict(kinds)
    for name, value in wrappers.without(settings).items():
        about = schema["properties"].get(name, {})
        if "actions" in about:
            actions = about["actions"].get(json.dumps(value), "")
            if actions != found["actions"]:
                found |= {"actions": actions, "action_space": ""}
        if name not in schema["properties"] or about.get("sees") == "kind":
            found |= {"observations": "", "observation_space": ""}
        elif "sees" in about:
            found |= {"observation_space": ""}
    return found


def _misfit(wrapper: Wrapper, schema: Mapping[str, Any], kinds: Kinds, *, env_id: str) -> str:
    for part, able in schema.get("needs", {}).items():
        if kinds[part] and kinds[part] not in able:
            needed = _SAID[part].get(tuple(able)) or f"{' or '.join(able)} {part}"
            return f"{wrapper.name} needs {needed}, {env_id} {_HAS[part]} {_space(part, kinds)}"
    return _OTHER_REASONS[wrapper.name](wrapper, kinds, env_id) if wrapper.name in _OTHER_REASONS else ""


def _space(part: str, kinds: Kinds) -> str:
    return kinds[_SPACES[part]] or f"{kinds[part]} {part}"


def _wrong_shape(wrapper: Wrapper, kinds: Kinds, env_id: str) -> str:
    """Of a reshape that has more or fewer numbers than there are."""
    has = _SHAPE.search(kinds["observation_space"])
    given = wrapper.arguments["shape"]
    numbers = prod(int(one) for one in has[1].split(",")) if has else prod(given)
    if prod(given) == numbers:
        return ""
    shown = _space("observations", kinds)
    return f"{wrapper.name}: a shape of {given} has {prod(given)} numbers, {env_id} shows {numbers}: {shown}"


def _unbounded(part: str, wrapper: Wrapper, kinds: Kinds, env_id: str) -> str:
    """Of a wrapper that maps what there is to finite bounds."""
    if _INFINITE.search(kinds[_SPACES[part]]) is None:
        return ""
    return f"{wrapper.name} needs {part} with finite bounds, {env_id} {_HAS[part]} {_space(part, kinds)}"


def _without_part(wrapper: Wrapper, kinds: Kinds, env_id: str) -> str:
    """Of a filter that keeps parts of a Dict which it has not."""
    shown = kinds["observation_space"]
    lacking = [one for one in wrapper.arguments["filter_keys"] if isinstance(one, str) and f"'{one}': " not in shown]
    if not shown.startswith("Dict(") or not lacking:
        return ""
    return f"{wrapper.name}: {env_id} has no part {' or '.join(lacking)}, it shows {shown}"


_OTHER_REASONS: Mapping[str, Callable[[Wrapper, Kinds, str], str]] = {
    "ReshapeObservation": _wrong_shape,
    "RescaleObservation": partial(_unbounded, "observations"),
    "RescaleAction": partial(_unbounded, "actions"),
    "FilterObservation": _without_part,
}
"""What is more than a kind that does not fit."""


def _behind(wrapper: Wrapper, schema: Mapping[str, Any], kinds: Kinds) -> dict[str, str]:
    given = _given(wrapper, schema)
    return {**kinds, **{kind: "" for part in _changed(schema) for kind in (part, _SPACES[part])}, **given}


def _changed(schema: Mapping[str, Any]) -> list[str]:
    return [part for part in schema.get("changes", _EVERY) if part in _SPACES]


def _given(wrapper: Wrapper, schema: Mapping[str, Any]) -> dict[str, str]:
    given: dict[str, str] = dict(schema.get("gives", {}))
    for name, about in schema.get("properties", {}).items():
        value = json.dumps(wrapper.arguments.get(name, about.get("default")))
        given |= {part: about[part].get(value, "") for part in _SPACES if part in about}
    return given
