"""The actor around a BDI agent: what its seat sees becomes percepts; after a failure its plan file is read again."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import agentspeak
from annotated_types import Ge

from cleanrl_worker.sdk.bdi import mailbox, plan_file
from cleanrl_worker.sdk.bdi.deliberation import Choose, Deliberation, Surroundings
from cleanrl_worker.sdk.bdi.plan_file import Program
from mosaic import config
from mosaic.envs import facts
from mosaic.errors import ActorFailed
from mosaic.play.actor import Choice, Context, Outcome, View
from mosaic.play.json_values import action_from_json

Join = Callable[[Path, str], mailbox.Mailbox]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a BDI agent."""

    max_cycles: Annotated[int, Ge(100)] = 200_000
    """Instructions and looks into its beliefs that an agent may take for one action."""


class BdiActor:
    """Asks its agent; tells the user which goals the action serves and what the plans printed."""

    def __init__(
        self,
        plans: Program,
        context: Context,
        settings: Settings | None = None,
        *,
        join: Join = mailbox.join,
        choose: Choose | None = None,
    ) -> None:
        """`join` gives it the box by which it talks with others, `choose` chooses among its plans."""
        settings = settings or config.from_json(Settings, dict(context.params), what="actor_params.bdi")
        self._arena = context.arena
        name = agentspeak.sanitize_functor(context.seat)
        self._agent = Deliberation(
            plans,
            _surroundings(context),
            join(context.run_dir.root, name),
            name=name,
            max_cycles=settings.max_cycles,
        )
        self._agent.choose = choose
        self._failed = False

    def reset(self, seed: int) -> None:
        self._agent.begin(seed)

    def select_action(self, view: View) -> Choice:
        if self._failed:
            # A user who fixes the file and continues gets a new agent, made from the file as it is now.
            path, self._failed = self._agent.plans.path, False
            # Those of a policy have no file.
            self._agent.plans = plan_file.read(path) if path.is_file() else self._agent.plans
        try:
            action = self._agent.decide(facts.seen(self._arena, view.observation), step=view.step, legal=view.legal)
        except ActorFailed:
            self._agent.forget()
            self._failed = True
            raise
        return Choice(action=action, note=self._agent.note)

    def observe(self, outcome: Outcome) -> None:
        self._agent.hear(outcome.action, outcome.reward)

    def close(self) -> None:
        self._agent.close()


def _surroundings(context: Context) -> Surroundings:
    arena = context.arena

    def to_action(data: Any) -> Any:
        return action_from_json(data, arena.action_space)

    # Made in the thread of the environment, and once: the map does not change.
    return Surroundings(
        known=facts.known(arena),
        action_names=arena.action_names,
        first_action=int(getattr(arena.action_space, "start", 0)),
        to_action=to_action,
    )
