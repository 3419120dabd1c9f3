"""A plan file: found, read and parsed; an error in it is reported with its line."""

import logging
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import agentspeak
from agentspeak import lexer, parser, runtime

from cleanrl_worker.sdk.bdi.agentspeak_agent import Clock, Mind, actions
from mosaic.envs.facts import World
from mosaic.errors import ActorFailed

SHIPPED = Path(__file__).with_name("plans")
SOLVING = {"FrozenLakeEnv": "frozen_lake", "CliffWalkingEnv": "cliff_walking", "TaxiEnv": "taxi"}
"""The simulators that plans are shipped for."""
EACH_ACTION = "actions"
"""The name of plans that are made for any environment, one for each action: learning is plain Q-learning then."""
LEARNING = {"FrozenLakeEnv": "frozen_lake_moves", "CliffWalkingEnv": "cliff_routes", "TaxiEnv": "taxi_trips"}
"""The same for an agent that learns to choose."""
_GRAVE = ("no such action", "recovery plans are ignored", "directives are ignored")
"""Warnings of the interpreter after which a plan would silently do something else than it says."""
_here = threading.local()


@dataclass(frozen=True)
class Program:
    """A parsed plan file, from which an agent is made for each episode."""

    path: Path
    text: str
    tree: Any
    goals: tuple[Any, ...]
    plan_names: dict[int, str]
    """What each plan is called, by its place in the file: its label, else its head and context."""

    @property
    def name(self) -> str:
        """The name of shipped plans, or the path."""
        is_ours = self.path.parent == SHIPPED or self.path == Path(f"{EACH_ACTION}.asl")
        return self.path.stem if is_ours else str(self.path)

    def mind(self, name: str) -> tuple[Mind, Clock, dict[int, str]]:
        """An agent that wants nothing yet, its clock, and what its plans are called."""
        clock = Clock()
        with _heard() as said:
            try:
                _, made = clock.build_agent_from_ast(
                    agentspeak.StringSource(str(self.path), ""), self.tree, actions(), agent_cls=Mind, name=name
                )
            except agentspeak.AggregatedError:
                raise ActorFailed(reasons(self.path, said)) from None
            except agentspeak.AslError as error:
                raise ActorFailed(f"{self.path}: {error}") from error
        _refuse_grave(self.path, said)
        # The interpreter keeps plans by their event, each group in the order of the file.
        rest = {key: list(plans) for key, plans in made.plans.items()}
        names: dict[int, str] = {}
        for at, tree in enumerate(self.tree.plans):
            head = tree.event.head
            plan = rest[(tree.event.trigger, tree.event.goal_type, head.functor, len(head.terms))].pop(0)
            names[id(plan)] = self.plan_names[at]
        return made, clock, names

    def initial_goals(self) -> list[Any]:
        return [goal.atom.accept(runtime.BuildTermVisitor({})) for goal in self.goals]


def find(argument: str, world: World, shipped_for: Mapping[str, str]) -> Path:
    """The file that was named, the shipped plans of that name, or those for this environment."""
    if argument:
        path = Path(argument).expanduser()
        shipped = SHIPPED / f"{argument}.asl"
        if path.is_file() or not shipped.is_file():
            return path
        return shipped
    name = shipped_for.get(type(world.unwrapped).__name__)
    if name is None:
        raise ActorFailed(
            f"no plans are shipped for {world.env_id} (only for FrozenLake, CliffWalking and Taxi); "
            f"write your own and name the file (bdi:FILE.asl, --plans FILE.asl){_or_each_action(shipped_for)}"
        )
    return SHIPPED / f"{name}.asl"


def chosen(
    argument: str, world: World, shipped_for: Mapping[str, str], action_names: Sequence[str], first_action: int
) -> Program:
    """The plans of the file that was named, those that are shipped, or one for each action."""
    if argument == EACH_ACTION:
        text = _each_action(action_names, first_action)
        if not text:
            raise ActorFailed(f"{world.env_id} has no list of actions to make a plan for each of")
        return parsed(Path(f"{EACH_ACTION}.asl"), text)
    return read(find(argument, world, shipped_for))


def _or_each_action(shipped_for: Mapping[str, str]) -> str:
    return f", or take one plan for each action, '{EACH_ACTION}'" if shipped_for is LEARNING else ""


def _each_action(names: Sequence[str], first: int) -> str:
    labels = [agentspeak.sanitize_functor(name) or "" for name in names]
    lines: list[str] = []
    for at, label in enumerate(labels):
        is_clear = label.isidentifier() and label[0].islower() and labels.count(label) == 1
        lines.append(f"@{label if is_clear else f'action_{first + at}'} +!step <- act({first + at}).\n")
    return "".join(lines)


def read(path: Path) -> Program:
    """The plans of a file, or ActorFailed with every line that is wrong."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ActorFailed(f"{path} cannot be read as a plan file: {error}") from error
    return parsed(path, text)


def parsed(path: Path, text: str) -> Program:
    """The plans of a text that stands in this file, or would."""
    with _heard() as said:
        log = agentspeak.Log(logging.getLogger("agentspeak.parser"))
        source = agentspeak.StringSource(str(path), text)
        try:
            tree = parser.parse(str(path), lexer.TokenStream(source, log), log)
            log.throw()
        except agentspeak.AggregatedError:
            raise ActorFailed(reasons(path, said)) from None
        except (RecursionError, OSError, AttributeError) as error:
            raise ActorFailed(f"{path} cannot be read as a plan file: {error!r}") from error
    _refuse_grave(path, said)
    goals, tree.goals = tuple(tree.goals), []
    made = Program(path, text, tree, goals, {at: _plan_name(plan) for at, plan in enumerate(tree.plans)})
    # What only shows when an agent is made of it should show now.
    made.mind("agent")
    return made


def reasons(path: Path, said: Sequence[logging.LogRecord]) -> str:
    """One line a problem, each with its place."""
    found = [_sentence(path, record) for record in said if record.levelno >= logging.ERROR]
    return "\n".join(found) or f"{path} cannot be used"


@contextmanager
def heard_by(path: Path) -> Generator[None]:
    """What the interpreter raises while an agent reasons, as ActorFailed with the line of the plan."""
    with _heard() as said:
        try:
            yield
        except agentspeak.AggregatedError:
            raise ActorFailed(reasons(path, said)) from None
        except agentspeak.AslError as error:
            raise ActorFailed(f"{path.name}: {error}") from error
        except RecursionError:
            raise ActorFailed(f"{path.name}: a rule calls itself too deeply") from None


def _plan_name(plan: Any) -> str:
    if plan.annotation is not None:
        return f"@{plan.annotation.functor}"
    return f"{plan.event} : {plan.context}" if plan.context else str(plan.event)


def _refuse_grave(path: Path, said: Sequence[logging.LogRecord]) -> None:
    grave = [_sentence(path, record) for record in said if record.getMessage().startswith(_GRAVE)]
    if grave:
        raise ActorFailed("\n".join(grave))


def _sentence(path: Path, record: logging.LogRecord) -> str:
    loc: Any = getattr(record, "loc", None)
    text = record.getMessage()
    if loc is None:
        return f"{path.name}: {text}"
    return f"{Path(loc.filename).name}, line {loc.lineno}, column {loc.startcol + 1}: {text}"


class _Ear(logging.Handler):
    """The interpreter tells its reasons to a logger only; this hands them to the listener of this thread."""

    def emit(self, record: logging.LogRecord) -> None:
        said: list[logging.LogRecord] | None = getattr(_here, "said", None)
        if said is not None:
            said.append(record)


@contextmanager
def _heard() -> Generator[list[logging.LogRecord]]:
    before, said = getattr(_here, "said", None), list[logging.LogRecord]()
    _here.said = said
    try:
        yield said
    finally:
        _here.said = before


def _listen() -> None:
    """Instead of coloured lines on what stderr was when the interpreter was imported."""
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("agentspeak."):
            logging.getLogger(name).handlers.clear()
    logger = logging.getLogger("agentspeak")
    logger.addHandler(_Ear())
    logger.propagate = False


_listen()
