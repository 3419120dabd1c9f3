"""Environments of a user's own files, `my_env.py:MyEnv`: a class, a function that makes one, or an id of the file."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from mosaic.envs.family import Family
from mosaic.envs.own import loaded_code
from mosaic.spec.own_code import is_reference, typed

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

FAMILY = Family(
    name="own",
    title="Your own",
    observation_rule=(
        "float vectors as float32, uint8 pictures as they are, Discrete as a one-hot, everything composite flattened"
    ),
    distribution="gymnasium",
    graphics=({"SDL_VIDEODRIVER": "dummy"}, {"SDL_VIDEODRIVER": "dummy", "MUJOCO_GL": "egl"}),
)


@dataclass(frozen=True)
class OwnEntry:
    """The entry point of a spec: executes the file where it is called, also in another process than this one."""

    word: str
    file: str

    @property
    def creator(self) -> Any:
        """The class or function."""
        found = loaded_code.named(self.word, "environment", Path(self.file))
        if found is None:
            from gymnasium.envs.registration import load_env_creator

            entry: Any = _registered(self.word, Path(self.file)).entry_point
            return load_env_creator(entry) if isinstance(entry, str) else entry
        return found

    @property
    def metadata(self) -> dict[str, Any]:
        """Of a class; a function says nothing of its render modes, so it is asked for pictures if it can be."""
        about: Any = getattr(self.creator, "metadata", None)
        if isinstance(about, dict):
            return cast("dict[str, Any]", about)
        return {"render_modes": ["rgb_array"] if self._takes_render_mode else []}

    @property
    def _takes_render_mode(self) -> bool:
        import inspect

        parameters = inspect.signature(self.creator).parameters
        return "render_mode" in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())

    def __call__(self, **kwargs: Any) -> Any:
        return self.creator(**kwargs)


def owns(env_id: str) -> bool:
    return is_reference(env_id)


def spec_of(env_id: str) -> "EnvSpec":
    """As if it were registered under its reference."""
    from gymnasium.envs.registration import EnvSpec

    path = loaded_code.file_of(env_id, "environment")
    entry = OwnEntry(env_id, str(path))
    if loaded_code.named(env_id, "environment", path) is not None:
        return EnvSpec(env_id, entry_point=entry)
    return replace(_registered(env_id, path), id=env_id, entry_point=entry)


def _registered(env_id: str, path: Path) -> "EnvSpec":
    """What the file has registered under this id while it was executed."""
    import gymnasium

    loaded_code.execute(path)
    parts = typed(env_id)
    assert parts is not None
    found = gymnasium.registry.get(parts.name)
    if found is None:
        raise loaded_code.missing(env_id, path, "environment")
    return found
