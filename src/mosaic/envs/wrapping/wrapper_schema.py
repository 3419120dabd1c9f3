"""The arguments of wrappers as JSON Schemas: of Gymnasium's own, for the catalogue, and of one of a user's.

    {"name": "TimeLimit", "summary": "Limits the number of steps …", "properties": {"max_episode_steps": {"type":
     "integer", "minimum": 1}}, "required": ["max_episode_steps"], "changes": []}

`changes` says what may be another with it: `actions`, `observations`, `rewards`. `needs` has the kinds of actions or
observations (`mosaic.envs.description`) that it can be put around, `gives` those that are there with it, where that is
sure; an argument on which they depend has them by its value, as JSON. `not_for_pictures` is why algorithms on pictures
cannot have it. One that cannot be used here has `refused`, the reason, instead.
"""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from mosaic.envs.settings.constructor import REQUIRED, arguments_of
from mosaic.envs.settings.settings_schema import schema_of

_SEES = ("observations",)
_ACTS = ("actions",)
_PAYS = ("rewards",)
USABLE: dict[str, tuple[str, ...]] = {
    "TimeLimit": (),
    "FrameStackObservation": _SEES,
    "DelayObservation": (),
    "MaxAndSkipObservation": (),
    "TimeAwareObservation": _SEES,
    "NormalizeObservation": _SEES,
    "RescaleObservation": _SEES,
    "FlattenObservation": _SEES,
    "FilterObservation": _SEES,
    "ReshapeObservation": _SEES,
    "DtypeObservation": _SEES,
    "DiscretizeObservation": _SEES,
    "GrayscaleObservation": _SEES,
    "ResizeObservation": _SEES,
    "ClipAction": _ACTS,
    "RescaleAction": _ACTS,
    "DiscretizeAction": _ACTS,
    "StickyAction": (),
    "RepeatAction": (),
    "ClipReward": _PAYS,
    "NormalizeReward": _PAYS,
}
"""Gymnasium's wrappers that can be named, and what may be another with each."""
_NUMBERS = {"observations": ["vector", "pixels"]}
_NEEDS: dict[str, dict[str, list[str]]] = {
    "RescaleObservation": _NUMBERS,
    "FilterObservation": {"observations": ["composite"]},
    "ReshapeObservation": _NUMBERS,
    "DiscretizeObservation": _NUMBERS,
    "GrayscaleObservation": {"observations": ["pixels"]},
    "ResizeObservation": {"observations": ["pixels"]},
    "ClipAction": {"actions": ["continuous"]},
    "RescaleAction": {"actions": ["continuous"]},
    "DiscretizeAction": {"actions": ["continuous"]},
}
_GIVES = {
    "NormalizeObservation": {"observations": "vector"},
    "FlattenObservation": {"observations": "vector"},
    "GrayscaleObservation": {"observations": "pixels"},
    "ResizeObservation": {"observations": "pixels"},
    "ClipAction": {"actions": "continuous"},
    "RescaleAction": {"actions": "continuous"},
}
_NOT_FOR_PICTURES = "changes the stacks of four grey pictures, 84×84 in uint8, that algorithms on pictures learn from"
_FUNCTION = "takes a function, which no flag can say; write a wrapper of your own (docs/own-environments.md)"
_OTHER_ARRAYS = "gives arrays that are not NumPy's, and the environments of MOSAIC do"
REFUSED = {
    "TransformObservation": _FUNCTION,
    "TransformAction": _FUNCTION,
    "TransformReward": _FUNCTION,
    "ArrayConversion": _OTHER_ARRAYS,
    "JaxToNumpy": _OTHER_ARRAYS,
    "JaxToTorch": _OTHER_ARRAYS,
    "NumpyToTorch": _OTHER_ARRAYS,
    "AtariPreprocessing": "is what algorithms on pictures (ppo_atari and others) do by themselves",
    "AddRenderObservation": "draws each step; algorithms on pictures see what the environment itself shows",
    "Autoreset": "begins the next episode by itself, which a run does already",
    "PassiveEnvChecker": "is what 'mosaic envs check ENV' runs",
    "OrderEnforcing": "is around every environment already",
    "RecordEpisodeStatistics": "counts what charts/episodic_return and charts/episodic_length show already",
    "RecordVideo": "is what --capture-video does",
    "HumanRendering": "opens a window of its own; 'mosaic watch' and the studio show the environments",
    "RenderCollection": "keeps pictures in memory; --capture-video records them to files",
    "AddWhiteNoise": "changes pictures that are drawn, and algorithms do not see these",
    "ObstructView": "changes pictures that are drawn, and algorithms do not see these",
}
_COUNT = {"type": "integer", "minimum": 1}
_BOUND = {"anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}}]}
_BINS = {"anyOf": [dict(_COUNT), {"type": "array", "items": dict(_COUNT)}]}
_KNOWN: dict[str, dict[str, dict[str, Any]]] = {
    # What the annotations do not say, because they name types of NumPy.
    "TimeLimit": {"max_episode_steps": _COUNT},
    "FrameStackObservation": {"stack_size": {**_COUNT, "maximum": 1000}, "padding_type": {"enum": ["reset", "zero"]}},
    "DelayObservation": {"delay": {"type": "integer", "minimum": 0}},
    "MaxAndSkipObservation": {"skip": {"type": "integer", "minimum": 2}},
    "NormalizeObservation": {"epsilon": {"type": "number", "exclusiveMinimum": 0}},
    "RescaleObservation": {"min_obs": _BOUND, "max_obs": _BOUND},
    "RescaleAction": {"min_action": _BOUND, "max_action": _BOUND},
    "ReshapeObservation": {"shape": {"type": "array", "items": dict(_COUNT)}},
    "ResizeObservation": {"shape": {"type": "array", "items": dict(_COUNT), "minItems": 2, "maxItems": 2}},
    "DtypeObservation": {"dtype": {"enum": ["float32", "float64", "uint8", "int32", "int64"]}},
    "DiscretizeObservation": {
        "bins": _BINS,
        "multidiscrete": {"observations": {"false": "discrete", "true": "composite"}},
    },
    "DiscretizeAction": {"bins": _BINS, "multidiscrete": {"actions": {"false": "discrete", "true": "multi_discrete"}}},
    "FilterObservation": {
        "filter_keys": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}
    },
    "StickyAction": {
        "repeat_action_probability": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
        "repeat_action_duration": {
            "anyOf": [dict(_COUNT), {"type": "array", "items": dict(_COUNT), "minItems": 2, "maxItems": 2}]
        },
    },
    "RepeatAction": {"num_repeats": _COUNT},
    "ClipReward": {
        "min_reward": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "max_reward": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    },
    "NormalizeReward": {
        "gamma": {"type": "number", "minimum": 0, "maximum": 1},
        "epsilon": {"type": "number", "exclusiveMinimum": 0},
    },
}


def gymnasiums() -> list[dict[str, Any]]:
    """All of Gymnasium's wrappers for one environment."""
    usable = [
        _described(name, class_of(name), _KNOWN.get(name, {}), changes) | _fitting(name, changes)
        for name, changes in USABLE.items()
    ]
    return [*usable, *({"name": name, "refused": reason} for name, reason in REFUSED.items())]


def of_user(name: str, creator: Any) -> dict[str, Any]:
    """One of a user's: a class whose base says what it may change, or a function that wraps an environment."""
    return _described(name, creator, {}, tuple(_changes(creator)), is_listed=False)


def may_change_rewards(name: str, creator: Any) -> bool:
    return "rewards" in (USABLE[name] if name in USABLE else tuple(_changes(creator)))


def class_of(name: str) -> Any:
    """One of Gymnasium's that can be used."""
    from gymnasium import wrappers

    return getattr(wrappers, name)


def _changes(creator: Any) -> Iterator[str]:
    from gymnasium import ActionWrapper, ObservationWrapper, RewardWrapper

    kinds = {"observations": ObservationWrapper, "actions": ActionWrapper, "rewards": RewardWrapper}
    own = [part for part, base in kinds.items() if isinstance(creator, type) and issubclass(creator, base)]
    yield from own or kinds


def _described(
    name: str,
    creator: Callable[..., Any],
    known: dict[str, dict[str, Any]],
    changes: tuple[str, ...],
    *,
    is_listed: bool = True,
) -> dict[str, Any]:
    named = arguments_of(creator).named
    schema = schema_of(creator, {}, alone=known, is_listed=is_listed)
    inner = next(iter(named), "")
    properties = {argument: one for argument, one in schema["properties"].items() if argument != inner}
    return {
        "name": name,
        "summary": _summary(creator),
        "properties": properties,
        "required": [argument for argument in properties if named[argument].default is REQUIRED],
        "additionalProperties": schema["additionalProperties"],
        "changes": list(changes),
    }


def _fitting(name: str, changes: tuple[str, ...]) -> dict[str, Any]:
    """What one of Gymnasium's can be put around, and what is there then."""
    reason = {"not_for_pictures": _NOT_FOR_PICTURES} if "observations" in changes else {}
    return {"needs": _NEEDS.get(name, {}), "gives": _GIVES.get(name, {}), **reason}


def _summary(creator: Any) -> str:
    """The first sentence of its docstring, without the markup of Gymnasium's."""
    first = (inspect.getdoc(creator) or "").partition("\n")[0]
    return first.replace(":attr:", "").replace("`", "")
