"""What an environment family is: which ids it owns, what it needs installed, and how its environments are observed."""

import importlib
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from mosaic.envs.observations.pixels import Pixels, plain_pixels
from mosaic.errors import MissingExtra

if TYPE_CHECKING:
    from gymnasium import Env, Space
    from gymnasium.envs.registration import EnvSpec

    from mosaic.envs.observations.observation_rule import Encoder
    from mosaic.envs.vector.twin import Twin

Step = Callable[[Any], tuple[Any, Any, bool, bool, dict[str, Any]]]


def flat_encoder(space: "Space[Any]") -> "Encoder":
    """The observation rule of every family that has no rule of its own."""
    from mosaic.envs.observations.observation_rule import flat_encoder

    return flat_encoder(space)


def parts_encoder(space: "Space[Any]") -> "Encoder":
    """The rule by parts of every family that has no rule of its own."""
    from mosaic.envs.observations.observation_rule import parts_encoder

    return parts_encoder(space)


def no_quick_step(_env: "Env[Any, Any]") -> Step | None:
    """Families without a faster, bit-for-bit equal step use the environment's own."""
    return None


def nothing_kept(_env: "Env[Any, Any]") -> None:
    """Families whose environments draw from the state that they have anyway."""


def no_known_settings(_spec: "EnvSpec") -> Mapping[str, Mapping[str, Any]]:
    """Families whose table of bounds says all that is known."""
    return {}


def generator_state(env: "Env[Any, Any]") -> dict[str, Any]:
    """Everything random about `env` as plain values; for nearly all families that is one numpy generator."""
    return {"generator": env.unwrapped.np_random.bit_generator.state}


def set_generator_state(env: "Env[Any, Any]", state: Mapping[str, Any]) -> None:
    """Undo `generator_state`: the next reset draws what it drew when the state was taken."""
    env.unwrapped.np_random.bit_generator.state = state["generator"]


@dataclass(frozen=True, kw_only=True)
class Family:
    """One family of environments. A new family is a file with a `FAMILY` and a line in `families.py`."""

    name: str
    """Short name, as in `mosaic envs --family mujoco`."""
    title: str
    """Its name for the user."""
    observation_rule: str
    """One sentence: what an algorithm sees with `observations="vector"`."""
    distribution: str
    """The distribution on PyPI that provides the simulator."""
    extra: str | None = None
    """The extra of mosaic-rl that installs it; None when it is always there."""
    modules: tuple[str, ...] = ()
    """What must be importable; importing the last one also registers the ids."""
    optional: tuple[str, ...] = ()
    """What some of its environments need beside these."""
    entry_points: tuple[str, ...] = ()
    """Prefixes of the Gymnasium entry points that belong to this family."""
    unlisted: tuple[str, ...] = ()
    """Prefixes of entry points that are ours but not worth listing."""
    id_pattern: str | None = None
    """Ids that belong to this family even while its distribution is not installed."""
    actions: Literal["discrete", "continuous", "by seat"] | None = None
    """The kind of action that all of its environments take; None where each has its own."""
    observations: Literal["vector", "pixels", "composite"] | None = None
    """The kind of observation that all of them show, where `actions` is known too; None where each has its own."""
    listed: Callable[[], tuple[str, ...]] | None = None
    """Its ids, for a family that Gymnasium's registry knows nothing of: one for several players."""
    costly: tuple[str, ...] = ()
    """Id prefixes whose step takes about half a millisecond or more, so that a process of its own pays."""
    graphics: tuple[Mapping[str, str], ...] = field(default=({},))
    """Environment variables to try, in this order, to render without a display."""
    debian_packages: tuple[str, ...] = ()
    """What rendering needs from a bare Debian 12."""
    not_replayable: tuple[str, ...] = ()
    """Id prefixes whose simulator carries something over a reset, so that a replay may drift in the last bits."""
    configure: Callable[[], None] = lambda: None
    """Settings of the simulator, made once it is imported."""
    encoder: "Callable[[Space[Any]], Encoder]" = flat_encoder
    parts_encoder: "Callable[[Space[Any]], Encoder]" = parts_encoder
    """What an algorithm sees with `observations="parts"`."""
    masks: bool = False
    """Whether some of its environments may say which actions are allowed (`mosaic.envs.observations.action_masks`)."""
    pixels: "Callable[[EnvSpec, Mapping[str, Any]], Pixels]" = plain_pixels
    """How one of its environments, with the settings of a run, is shown to an algorithm with convolutions."""
    known_settings: "Callable[[EnvSpec], Mapping[str, Mapping[str, Any]]]" = no_known_settings
    """What is known of the settings of one environment alone, by their names; what holds for more is in a table."""
    pool_settings: Mapping[str, str] = field(default_factory=dict[str, str])
    """Settings that envpool takes too, and what each is called there."""
    quick_step: "Callable[[Env[Any, Any]], Step | None]" = no_quick_step
    twin: "Twin | None" = None
    """How to draw an environment in another process; None where its own `render()` must do."""
    keep_nothing_for_pictures: "Callable[[Env[Any, Any]], None]" = nothing_kept
    """Called for an environment that is drawn only now and then: its steps must not pay for pictures."""
    random_state: "Callable[[Env[Any, Any]], dict[str, Any]]" = generator_state
    set_random_state: "Callable[[Env[Any, Any], Mapping[str, Any]], None]" = set_generator_state

    def encoder_of(self, space: "Space[Any]", observations: str, *, masked: bool = False) -> "Encoder | None":
        """What makes rows of observations (`make_vec` names the ways); None where they are left alone.

        With `masked` the space is that of an environment in a `WithMask`.
        """
        if observations == "raw":
            return None
        rule = self.parts_encoder if observations == "parts" else self.encoder
        if not masked:
            return rule(space)
        from mosaic.envs.observations.observation_rule import with_mask
        from mosaic.envs.observations.parted_rows import MASK

        parts: Any = getattr(space, "spaces", {})
        return with_mask(rule(parts["observation"]), int(parts[MASK].shape[0]))

    def prepare(self) -> None:
        """Import what registers and runs these environments; MissingExtra says what to install."""
        for module in self.modules:
            import_quietly(module, self)
        self.configure()

    def replays_exactly(self, env_id: str) -> bool:
        """Whether replaying an episode leads to the very same simulator."""
        return not (self.not_replayable and env_id.startswith(self.not_replayable))

    def matches(self, env_id: str) -> bool:
        """Whether the id alone, without anything imported, says that it is ours."""
        return self.id_pattern is not None and re.search(self.id_pattern, env_id) is not None

    def owns(self, spec: "EnvSpec") -> bool:
        """Whether this registered environment is implemented by this family."""
        return isinstance(spec.entry_point, str) and spec.entry_point.startswith(self.entry_points)


def import_quietly(module: str, family: Family) -> None:
    """Import a simulator without the deprecation warnings that its own import raises.

    Box2D's SWIG types warn while the extension is initialised; where warnings are errors that is a segmentation fault.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if family.extra is None:
                raise
            raise MissingExtra(f"the {family.title} family", family.extra) from error
