"""`bdi_q`, `bdi_q:FILE.asl`, `bdi_q:RUN` or `bdi_q:FILE.json`: a BDI agent that learns which of its plans to choose.

The table of what it learnt stands in the run directory, rewritten after each episode, and a later session goes on with
it when it is named: by the run, or by the file.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic import config
from mosaic.errors import ActorFailed, MosaicError
from mosaic.play.actor import Choice, Context, Outcome, View
from mosaic.spec.actors import ActorDescriptor

if TYPE_CHECKING:
    from mosaic.play.actors.bdi.bdi_actor import BdiActor
    from mosaic.play.actors.bdi.plan_learning import Learner

DESCRIPTOR = ActorDescriptor(
    id="bdi_q",
    label="Learning BDI agent",
    description="AgentSpeak plans, and Q-learning to choose among those that apply; goes on with what a run learnt.",
    argument="[FILE.asl, RUN or FILE.json]",
    observations=("discrete", "vector", "composite"),
    extra="bdi",
    modules=("agentspeak",),
)


class LearningActor:
    """A BDI actor whose choices a learner makes, which is told their outcomes."""

    def __init__(self, learner: "Learner", path: Path) -> None:
        self.inner: BdiActor | None = None
        self._learner = learner
        self._path = path
        self._said = ""

    def reset(self, seed: int) -> None:
        self._actor.reset(seed)
        self._learner.begin(seed)

    def select_action(self, view: View) -> Choice:
        self._said = ""
        choice = self._actor.select_action(view)
        return Choice(action=choice.action, note="; ".join(filter(None, [choice.note, self._said])))

    def observe(self, outcome: Outcome) -> None:
        self._actor.observe(outcome)
        self._learner.earn(outcome.reward)
        if outcome.terminated or outcome.truncated:
            self._learner.end(terminated=outcome.terminated)
            self._learner.table.save(self._path)

    def close(self) -> None:
        self._actor.close()

    def choose(self, situation: str, plans: Sequence[str]) -> str:
        chosen = self._learner.choose(situation, plans)
        row = self._learner.table.row(situation, plans)
        self._said = f"{chosen} of " + ", ".join(f"{name} {row[name][0]:.3g}" for name in plans)
        return chosen

    @property
    def _actor(self) -> "BdiActor":
        assert self.inner is not None
        return self.inner


def make(argument: str, context: Context) -> Any:
    from cleanrl_worker.sdk.bdi import plan_file
    from mosaic.play.actors.bdi import plan_learning
    from mosaic.play.actors.bdi.bdi_actor import BdiActor

    settings = config.from_json(plan_learning.LearnerSettings, dict(context.params), what="actor_params.bdi_q")
    found = table_of(argument, context)
    table = plan_learning.load(found) if found is not None else None
    if table is not None and table.env_id != context.arena.env_id:
        raise ActorFailed(f"{found} was learnt in {table.env_id}, not in {context.arena.env_id}")
    word = table.plans if table is not None else argument
    plans = plan_file.read(plan_file.find(word, context.arena, plan_file.LEARNING))
    table = table or plan_learning.Table(env_id=context.arena.env_id, plans=plans.name)
    learner = plan_learning.Learner(table, settings, greedy=context.deterministic)
    path = context.run_dir.actor_file(f"bdi_q-{context.seat}.json")
    actor = LearningActor(learner, path)
    actor.inner = BdiActor(plans, context, settings, choose=actor.choose)
    return actor


def table_of(argument: str, context: Context) -> Path | None:
    """The table that a run or a file name means; None where the argument names plans."""
    path = Path(argument).expanduser()
    if path.suffix == ".json":
        return path
    try:
        run_dir = context.home.run(argument)
    except MosaicError:
        return None
    for found in (run_dir.actor_file(f"bdi_q-{context.seat}.json"), *sorted(run_dir.actors.glob("bdi_q-*.json"))):
        if found.is_file():
            return found
    raise ActorFailed(f"run {argument} has learnt no plans: there is no {run_dir.actors}/bdi_q-*.json")
