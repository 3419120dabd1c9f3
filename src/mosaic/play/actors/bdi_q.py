"""`bdi_q`, `bdi_q:FILE.asl`, `bdi_q:RUN` or `bdi_q:FILE`: a BDI agent that learns which of its plans to choose.

It learns as a training run of the algorithm `bdi_q` does, and goes on with what one has learnt. The table of what it
knows stands in the run directory, rewritten after each episode, and a later session goes on with it when it is named:
by the run, or by the file.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mosaic import config
from mosaic.errors import ActorFailed, MosaicError
from mosaic.play.actor import Choice, Context, Outcome, View
from mosaic.play.actors import policy
from mosaic.spec.actors import ActorDescriptor

if TYPE_CHECKING:
    from cleanrl_worker.sdk.bdi.plan_file import Program
    from mosaic.play.actors.bdi.plan_learning import LearnerSettings, Learnt

DESCRIPTOR = ActorDescriptor(
    id="bdi_q",
    label="Learning BDI agent",
    description="AgentSpeak plans, and Q-learning to choose among those that apply; goes on with what a run learnt.",
    argument="[FILE.asl, RUN or FILE]",
    observations=("discrete", "vector", "composite"),
    extra="bdi",
    modules=("agentspeak",),
)
POLICY_ENDING = ".cleanrl_model"


class LearningActor:
    """A BDI actor whose choices a learner makes, which is told their outcomes."""

    def __init__(self, plans: "Program", learnt: "Learnt", settings: "LearnerSettings", context: Context) -> None:
        from cleanrl_worker.algorithms.bdi_q import Learner
        from mosaic.play.actors.bdi.bdi_actor import BdiActor

        self._inner = BdiActor(plans, context, settings, choose=self._choose)
        self._learnt = learnt
        self._learner = Learner(learnt.table, settings.coefficients)
        self._learns = settings.learn
        self._is_greedy = context.deterministic or not settings.learn
        self._generator = np.random.default_rng(0)
        self._path = context.run_dir.actor_file(f"bdi_q-{context.seat}.json")
        self._said = ""

    def reset(self, seed: int) -> None:
        self._inner.reset(seed)
        self._generator = np.random.default_rng(seed)
        self._learner.begin()

    def select_action(self, view: View) -> Choice:
        self._said = ""
        choice = self._inner.select_action(view)
        return Choice(action=choice.action, note="; ".join(filter(None, [choice.note, self._said])))

    def observe(self, outcome: Outcome) -> None:
        self._inner.observe(outcome)
        self._learner.earn(outcome.reward)
        if outcome.terminated or outcome.truncated:
            self._learner.end(terminated=outcome.terminated)
            self._learnt.episodes += self._learns
            self._learnt.save(self._path)

    def close(self) -> None:
        self._inner.close()

    def _choose(self, situation: str, plans: Sequence[str]) -> str:
        from cleanrl_worker.algorithms.bdi_q import said_of

        table, generator = self._learnt.table, self._generator
        if self._learns:
            chosen = self._learner.choose(situation, plans, generator, greedy=self._is_greedy)
        else:
            chosen = table.best(situation, plans, generator)
        self._said = said_of(chosen, plans, table.values(situation, plans))
        return chosen


def make(argument: str, context: Context) -> Any:
    from cleanrl_worker.sdk.bdi import plan_copy, plan_file
    from mosaic.play.actors.bdi import plan_learning

    settings = config.from_json(plan_learning.LearnerSettings, dict(context.params), what="actor_params.bdi_q")
    found = table_of(argument, context)
    learnt = plan_learning.load(found) if found is not None else None
    arena = context.arena
    if learnt is not None and learnt.env_id != arena.env_id:
        raise ActorFailed(f"{found} was learnt in {learnt.env_id}, not in {arena.env_id}")
    if learnt is not None and learnt.source is not None:
        plans = plan_copy.program_of(learnt.source)
    else:
        word = learnt.plans if learnt is not None else argument
        first = int(getattr(arena.action_space, "start", 0))
        plans = plan_file.chosen(word, arena, plan_file.LEARNING, arena.action_names, first)
    learnt = learnt or plan_learning.Learnt(arena.env_id, plans.name)
    return LearningActor(plans, learnt, settings, context)


def table_of(argument: str, context: Context) -> Path | None:
    """The table that a run or a file name means, or the policy; None where the argument names plans."""
    path = Path(argument).expanduser()
    if path.suffix in (".json", POLICY_ENDING):
        return path
    try:
        run_dir = context.home.run(argument)
    except MosaicError:
        return None
    for found in (run_dir.actor_file(f"bdi_q-{context.seat}.json"), *sorted(run_dir.actors.glob("bdi_q-*.json"))):
        if found.is_file():
            return found
    if list(run_dir.root.glob(f"runs/*/*{POLICY_ENDING}")):
        return policy.find(argument, context.home)
    raise ActorFailed(f"run {argument} has learnt no plans: it has neither {run_dir.actors}/bdi_q-*.json nor a policy")
