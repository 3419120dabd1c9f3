"""`policy:RUN` or `policy:FILE`: a trained policy, seeing what it saw in training."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from cleanrl_worker.sdk.command import algorithm_catalogue
from cleanrl_worker.sdk.policies.open_policy import open_policy
from cleanrl_worker.sdk.policy import Policy, PolicyFile, RecurrentPolicy, RewardedPolicy
from mosaic.envs.observations import action_masks
from mosaic.envs.observations.parted_rows import MASK, how_seen, is_like
from mosaic.envs.observations.pixels import SHAPE
from mosaic.envs.pettingzoo import without_mask
from mosaic.envs.vector.batch import Batch
from mosaic.errors import ActorFailed, MosaicError, PolicyError, RunNotFound
from mosaic.log import get_logger
from mosaic.play.actor import Choice, Context, Outcome, View
from mosaic.play.arenas.arena import Arena
from mosaic.spec import manifest, policy_facts
from mosaic.spec.actors import ActorDescriptor
from mosaic.spec.environment_settings import spoken
from mosaic.spec.files import policy_digest
from mosaic.spec.run_dir import Home, checked_run_id

log = get_logger()

DESCRIPTOR = ActorDescriptor(
    id="policy",
    label="Policy",
    description="A trained policy: that of a run of this home, or a policy file.",
    argument="RUN or FILE",
    actions=("discrete", "multi_discrete", "continuous"),
)


class PolicyActor:
    """Samples as in training, from a generator that each episode seeds; or takes the likeliest action."""

    def __init__(
        self, actor: Policy, batch: Batch, *, deterministic: bool, trained_with: Mapping[str, Any] | None = None
    ) -> None:
        self.trained_with = trained_with
        """Settings of the environment; None if it was trained in another one."""
        self._actor = actor
        self._batch = batch
        self._masked = how_seen(batch.space)[1]
        """It was trained to take allowed actions only, and sees which these are."""
        self._deterministic = deterministic
        self._generator = np.random.default_rng(0)

    def reset(self, seed: int) -> None:
        self._generator = np.random.default_rng(seed)
        if isinstance(self._actor, RecurrentPolicy):
            self._actor.forget(np.ones(1, np.bool_))

    def select_action(self, view: View) -> Choice:
        rows = self._batch.gather([self._batch.row(self._seen(view))])
        action = self._actor.act(rows, self._generator, deterministic=self._deterministic)
        explained: Any = getattr(self._actor, "explain", None)
        told: dict[str, Any] = explained(rows) if explained is not None else {}
        return Choice(action=self._batch.moves(action)[0], **told)

    def _seen(self, view: View) -> Any:
        if not self._masked:
            return view.observation
        if view.legal is None:
            raise ActorFailed("the policy was trained with action masks, and this environment gives none")
        mask = action_masks.flat(view.legal, self._batch.action_space)
        return {action_masks.OBSERVATION: action_masks.without_mask_part(view.observation), MASK: mask}

    def observe(self, outcome: Outcome) -> None:
        if isinstance(self._actor, RewardedPolicy):
            self._actor.rewarded(np.array([outcome.reward]))

    def close(self) -> None:
        """It holds nothing."""


def make(argument: str, context: Context) -> PolicyActor:
    path = find(argument, context.home)
    file, actor = open_policy(path, env_id=context.arena.env_id)
    if not file.has_digest:
        log.warning("policy.without_digest", path=str(path), meaning=f"it {policy_digest.NO_DIGEST}")
    for remark in file.remarks:
        log.warning("policy.other_code", path=str(path), meaning=remark)
    batch = _batch(context.arena, *how_seen(file.observation_space))
    _check_fit(file, batch, context.arena.env_id)
    trained_with = file.env_settings if file.env_id == context.arena.env_id else None
    return PolicyActor(actor, batch, deterministic=context.deterministic, trained_with=trained_with)


def find(argument: str, home: Home) -> Path:
    """The file itself, or the newest policy of a run of this home."""
    path = Path(argument).expanduser()
    if path.is_file():
        return path
    try:
        run_dir = home.run(checked_run_id(argument))
        found = manifest.read_parts(run_dir)[0].artifacts if run_dir.manifest.exists() else None
    except MosaicError:
        found = None
        raise PolicyError(f"'{argument}' is neither a policy file that is there nor the id of a run") from None
    if found is None:
        raise RunNotFound(argument)
    policies = [run_dir.inside(item.path) for item in found if item.kind == "policy"]
    if not policies:
        raise PolicyError(f"run {argument} has saved no policy (yet)")
    return policies[-1]


def sees_pixels(argument: str, home: Home) -> bool:
    """Whether the policy was trained on stacks of pictures."""
    return algorithm_catalogue.observations(policy_facts.read(find(argument, home)).algo) == "pixels"


def _batch(arena: Arena, seen: str, masked: bool) -> Batch:
    """As `make_vec` sees the environment; what an arena shows has no mask beside it."""
    space = arena.observation_space
    if masked:
        choices = sum(action_masks.sizes_of(arena.action_space))
        space = spaces.Dict({action_masks.OBSERVATION: without_mask(space), MASK: spaces.MultiBinary(choices)})
    try:
        encoder = arena.family.encoder_of(space, seen, masked=masked)
    except (TypeError, NotImplementedError) as error:
        raise PolicyError(f"observations of {arena.env_id} cannot be one vector: {error}") from error
    return Batch(space, arena.action_space, encoder)


def _check_fit(file: PolicyFile, batch: Batch, env_id: str) -> None:
    for name, trained, given in (
        ("observation", file.observation_space, batch.space),
        ("action", file.action_space, batch.action_space),
    ):
        if name == "observation" and trained.shape == SHAPE != given.shape:
            raise PolicyError(
                f"the policy sees stacks of four 84×84 pictures, and this session shows {given}: start another with the"
                " policy in it, or with --observations pixels"
            )
        if not is_like(trained, given):
            settings = spoken(file.env_settings)
            raise PolicyError(
                f"the policy has {name} space {trained}, {env_id} has {given}; it was trained in {file.env_id}"
                f"{f' with {settings}' if settings else ''}"
            )
