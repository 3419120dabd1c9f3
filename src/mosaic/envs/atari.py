"""Atari 2600 games of the Arcade Learning Environment; the ROMs come with ale-py."""

import re
from collections.abc import Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from mosaic.envs.family import Family, generator_state, set_generator_state
from mosaic.envs.observations.pixels import Pixels
from mosaic.envs.settings.known_bounds import OF_CLASS
from mosaic.errors import ConfigError, Problem
from mosaic.spec.catalogue.extras import ATARI, ATARI_IDS

if TYPE_CHECKING:
    from gymnasium import Env
    from gymnasium.envs.registration import EnvSpec


def _configure() -> None:
    from importlib import import_module

    ale_py: Any = import_module("ale_py")  # its stubs leave LoggerMode's members unknown
    # Otherwise each environment prints a banner.
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)


def _random_state(env: "Env[Any, Any]") -> dict[str, Any]:
    # Sticky actions are drawn by ALE's own generator, which only its serialised state exposes.
    import numpy as np

    emulator: Any = env.unwrapped
    saved = emulator.ale.cloneState(include_rng=True).serialize()
    return generator_state(env) | {"ale": np.frombuffer(saved, dtype=np.uint8)}


def _set_random_state(env: "Env[Any, Any]", state: Mapping[str, Any]) -> None:
    import ale_py

    emulator: Any = env.unwrapped
    set_generator_state(env, state)
    emulator.ale.restoreState(ale_py.ALEState(state["ale"].tobytes()))


def _pixels(spec: "EnvSpec", settings: Mapping[str, Any]) -> Pixels:
    """As CleanRL plays (`observations.atari_frames`). An id's own frame skip is replaced, its sticky actions stay.

    A frame skip among the settings is the number of frames that a step repeats its action.
    """
    from mosaic.envs.observations.pixels import SKIP

    skip = settings.get("frameskip", SKIP)
    problems = [
        Problem(f"--env.{name}", known["not_for_pictures"])
        for name, known in OF_CLASS["AtariEnv"].items()
        if name in settings and "not_for_pictures" in known
    ]
    if not isinstance(skip, int):
        problems.append(Problem("--env.frameskip", "algorithms on pictures need one number, not a range"))
    if problems:
        raise ConfigError(problems, what=spec.id)

    def wrap(env: "Env[Any, Any]", *, whole_games: bool = False) -> "Env[Any, Any]":
        from mosaic.envs.observations.atari_frames import AtariFrames

        return AtariFrames(env, whole_games=whole_games, skip=skip)

    sticky = spec.kwargs.get("repeat_action_probability", 0.0)
    return Pixels(
        wrap=wrap,
        wrap_whole=partial(wrap, whole_games=True),
        kwargs={"frameskip": 1, "obs_type": "grayscale"},
        # It knows one version of each game, which is told about sticky actions.
        pool_name=f"{re.split('NoFrameskip|Deterministic|-v', spec.id.removeprefix('ALE/'))[0]}-v5",
        pool_kwargs={"episodic_life": True, "reward_clip": True, "repeat_action_probability": sticky},
    )


def _known_settings(spec: "EnvSpec") -> Mapping[str, Mapping[str, Any]]:
    """The modes and difficulties that this game has."""
    return _modes_of(str(spec.kwargs.get("game", "")))


@cache
def _modes_of(game: str) -> Mapping[str, Mapping[str, Any]]:
    from importlib import import_module

    ale_py: Any = import_module("ale_py")
    roms: Any = import_module("ale_py.roms")
    try:
        emulator = ale_py.ALEInterface()
        emulator.loadROM(roms.get_rom_path(game))
        found = {"mode": emulator.getAvailableModes(), "difficulty": emulator.getAvailableDifficulties()}
    except (OSError, RuntimeError, TypeError):
        return {}  # A game whose ROM is not here; its modes are found out when it is made.
    return {name: {"enum": [int(one) for one in values]} for name, values in found.items()}


FAMILY = Family(
    name="atari",
    title="Atari",
    observation_rule="the uint8 picture as it is (210×160×3 unless wrappers change it); RAM stays uint8 too",
    actions="discrete",
    observations="pixels",
    distribution="ale-py",
    extra=ATARI.name,
    modules=("ale_py",),
    entry_points=("ale_py.",),
    id_pattern=ATARI_IDS,
    costly=("",),
    configure=_configure,
    pixels=_pixels,
    known_settings=_known_settings,
    pool_settings={
        "repeat_action_probability": "repeat_action_probability",
        "frameskip": "frame_skip",
        "full_action_space": "full_action_space",
        "mode": "mode",
        "difficulty": "difficulty",
    },
    random_state=_random_state,
    set_random_state=_set_random_state,
)
