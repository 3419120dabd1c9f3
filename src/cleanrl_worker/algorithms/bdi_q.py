"""BDI agents that learn by Q-learning which of their plans to choose (docs/algorithms/bdi_q.md)."""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import numpy as np
import torch
from annotated_types import Ge, Gt, Le
from torch import nn

from cleanrl_worker.sdk import Envs, LikeliestActions, Policy, PolicyFile, Run, main
from mosaic import config
from mosaic.errors import PolicyError
from mosaic.log import get_logger
from mosaic.search_range import Search
from mosaic.spec.catalogue import extras
from mosaic.spec.files.source_copy import SourceCopy
from mosaic.spec.user_files import UserFile

if TYPE_CHECKING:
    from cleanrl_worker.sdk.bdi.beliefs import Beliefs
    from cleanrl_worker.sdk.bdi.plan_file import Program
    from cleanrl_worker.sdk.bdi.resumable_agent import ResumableAgent

ACTIONS = "discrete"
OBSERVATIONS = "discrete"
BLOCK = 100
"""Steps of each environment between two looks at the checkpoint clock; what is logged is about one block."""
SEEDS = 2**32
log = get_logger()
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """BDI-Q: AgentSpeak plans, and Q-learning among those that apply."""

    env_id: str = "FrozenLake-v1"
    """Gymnasium id of the environment, whose observations and actions are numbers."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of the environments, the plans and the choices."""
    total_timesteps: Annotated[int, Ge(1)] = 100_000
    """Environment steps over all environments."""
    num_envs: Annotated[int, Ge(1)] = 1
    """Environments stepped in parallel, each with an agent; all learn into one table."""
    plans: Annotated[str, UserFile(".asl")] = ""
    """FILE.asl, the name of shipped plans, or `actions` for one plan per action; empty for those of the environment."""
    learning_rate: Annotated[float, Gt(0), Le(1), Search(0.01, 1.0, "log")] = 0.2
    """Share of the error that an update takes away."""
    gamma: Annotated[float, Gt(0), Le(1), Search(0.9, 0.9999, "logit")] = 0.99
    """Worth of a reward one step later."""
    exploration: Annotated[float, Ge(0), Le(1), Search(0.05, 1.0)] = 0.3
    """Share of choices that are made at random in a situation that is new."""
    exploration_visits: Annotated[int, Ge(1), Search(1, 1_000, "log")] = 100
    """After this many choices in a situation that share is half as large, after twice as many a third, and so on."""
    max_cycles: Annotated[int, Ge(100)] = 200_000
    """Instructions and looks into its beliefs that an agent may take for one action."""
    spade: bool = False
    """Give the agents a SPADE server of their own, by which they and agents of other programs talk."""
    spade_port: Annotated[int, Ge(0), Le(65535)] = 0
    """With spade: port of that server on 127.0.0.1; 0 is any that is free."""


class Coefficients(NamedTuple):
    """Numbers that may change from one update to the next."""

    learning_rate: float
    gamma: float
    exploration: float
    exploration_visits: int


Row = dict[str, list[float]]
"""Of one situation: each plan's value and how often it was chosen."""


@dataclass
class Table:
    """What every plan is worth in every situation that was met."""

    rows: dict[str, Row] = field(default_factory=dict[str, Row])

    def row(self, situation: str, plans: Sequence[str]) -> Row:
        row = self.rows.setdefault(situation, {})
        for plan in plans:
            row.setdefault(plan, [0.0, 0])
        return row

    def values(self, situation: str, plans: Sequence[str]) -> list[float]:
        """0 for what was never met."""
        row = self.rows.get(situation, {})
        return [row[plan][0] if plan in row else 0.0 for plan in plans]

    def visits(self, situation: str) -> int:
        return int(sum(visits for _, visits in self.rows.get(situation, {}).values()))

    def best(self, situation: str, plans: Sequence[str], generator: np.random.Generator) -> str:
        """Among equals any: where all is worth nothing yet, always the first would never find the reward."""
        values = self.values(situation, plans)
        equals = [plan for plan, value in zip(plans, values, strict=True) if value == max(values)]
        return equals[int(generator.integers(len(equals)))]


def explored_share(coefficients: Coefficients, visits: int) -> float:
    """Probability of a random choice in a situation in which so many were made."""
    half = coefficients.exploration_visits
    return coefficients.exploration * half / (half + visits)


@dataclass
class Open:
    """A choice whose worth is not known yet: the plan runs until the next choice."""

    situation: str
    plan: str
    earned: float = 0.0
    discount: float = 1.0


class Learner:
    """Chooses plans and learns their worth, for one agent or several side by side (`slot`).

    A plan runs for as many steps as it takes until the next choice, so what it earned is discounted by these steps (the
    semi-Markov form of Q-learning).
    """

    def __init__(self, table: Table, coefficients: Coefficients, slots: int = 1) -> None:
        self.table = table
        self.coefficients = coefficients
        self.open: list[Open | None] = [None] * slots
        self.logged = dict.fromkeys(("errors", "values", "updates", "explored", "choices"), 0.0)
        """Sums since `metrics` was asked."""

    def begin(self, slot: int = 0) -> None:
        # What an episode that was broken off would have earned is not known: its last choice teaches nothing.
        self.open[slot] = None

    def choose(
        self,
        situation: str,
        plans: Sequence[str],
        generator: np.random.Generator,
        slot: int = 0,
        *,
        greedy: bool = False,
    ) -> str:
        row = self.table.row(situation, plans)
        self._settle(slot, max(row[plan][0] for plan in plans))
        share = 0.0 if greedy else explored_share(self.coefficients, self.table.visits(situation))
        explores = bool(generator.random() < share)
        any_plan = plans[int(generator.integers(len(plans)))]
        # After settling, which may have changed this very row.
        chosen = any_plan if explores else self.table.best(situation, plans, generator)
        self.open[slot] = Open(situation, chosen)
        self.logged["explored"] += explores
        self.logged["choices"] += 1
        return chosen

    def earn(self, reward: float, slot: int = 0) -> None:
        if (choice := self.open[slot]) is not None:
            choice.earned += choice.discount * reward
            choice.discount *= self.coefficients.gamma

    def end(self, *, terminated: bool, slot: int = 0) -> None:
        """The episode is over; one that was only cut off says nothing of what would have come."""
        if terminated:
            self._settle(slot, 0.0)
        self.open[slot] = None

    def _settle(self, slot: int, onward: float) -> None:
        """The Q-learning update of the plan that ran until now; `onward` is what the best plan is worth from here."""
        choice = self.open[slot]
        if choice is None:
            return
        cell = self.table.rows[choice.situation][choice.plan]
        target = choice.earned + choice.discount * onward
        error = target - cell[0]
        cell[0] += self.coefficients.learning_rate * error
        cell[1] += 1
        self.logged["errors"] += error * error
        self.logged["values"] += cell[0]
        self.logged["updates"] += 1

    def metrics(self) -> dict[str, float]:
        """Of the choices since the last time."""
        logged, self.logged = self.logged, dict.fromkeys(self.logged, 0.0)
        found = {"charts/situations": float(len(self.table.rows))}
        if logged["choices"]:
            found["charts/exploration"] = logged["explored"] / logged["choices"]
        if logged["updates"]:
            found["losses/td_loss"] = logged["errors"] / logged["updates"]
            found["losses/q_values"] = logged["values"] / logged["updates"]
        return found

    def state(self) -> dict[str, Any]:
        choices = [None if choice is None else vars(choice) for choice in self.open]
        return {"rows": list(self.table.rows.items()), "open": choices}

    def load(self, state: Mapping[str, Any]) -> None:
        self.table.rows = {situation: {**row} for situation, row in state["rows"]}
        self.open = [None if choice is None else Open(**choice) for choice in state["open"]]


class Agent(nn.Module):
    """The table, and what the agent is told of its environment, as tensors: what the policy file holds."""

    def __init__(self, table: Table, beliefs: str) -> None:
        super().__init__()
        cells = [(row, plan, cell) for row, plans in table.rows.items() for plan, cell in plans.items()]
        names = json.dumps([[row, plan] for row, plan, _ in cells], ensure_ascii=False, separators=(",", ":"))
        self.register_buffer("values", torch.tensor([cell[0] for *_, cell in cells], dtype=torch.float64))
        self.register_buffer("visits", torch.tensor([int(cell[1]) for *_, cell in cells], dtype=torch.int64))
        self.register_buffer("situations_and_plans", _as_tensor(names))
        self.register_buffer("beliefs", _as_tensor(beliefs))


def _as_tensor(text: str) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(text.encode(), np.uint8).copy())


def table_of(arrays: Mapping[str, Array]) -> Table:
    """The table of a policy file, by the arrays of its agent."""
    names = json.loads(arrays["situations_and_plans"].tobytes())
    table = Table()
    for (situation, plan), value, visits in zip(names, arrays["values"], arrays["visits"], strict=True):
        table.row(situation, [plan])[plan] = [float(value), int(visits)]
    return table


def sources(args: Args, env_settings: Mapping[str, Any]) -> SourceCopy | None:
    """The plans, of which the run, its checkpoints and its policy keep a copy; None where plans cannot act."""
    extras.ALGORITHMS["bdi_q"].require("bdi_q")
    if args.spade:
        extras.SETTINGS["bdi_q", "spade"].require("--spade")
    from cleanrl_worker.sdk.bdi import beliefs, plan_copy

    plans = beliefs.plans_for(args.plans, args.env_id, env_settings)
    return None if plans is None else plan_copy.copy_of(plans)


def train(run: Run, args: Args) -> None:
    from cleanrl_worker.sdk.bdi import beliefs, plan_copy

    envs = run.make_envs(args.env_id, args.num_envs)
    assert run.spec.source is not None
    plans = plan_copy.program_of(run.spec.source)
    told = beliefs.of_environment(args.env_id, run.spec.env_settings)
    coefficients = Coefficients(args.learning_rate, args.gamma, args.exploration, args.exploration_visits)
    learner = Learner(Table(), coefficients, args.num_envs)
    with ExitStack() as talking:
        agents = [_agent(run, args, plans, told, learner, slot) for slot in range(args.num_envs)]
        for agent in agents:
            talking.callback(agent.close)
        _train(run, args, envs, agents, learner)
    run.save_policy(Agent(learner.table, told.to_text()))


def _train(run: Run, args: Args, envs: Envs, agents: "Sequence[ResumableAgent]", learner: Learner) -> None:
    saved = run.resume()
    if saved is None:
        obs = envs.reset(args.seed)
    else:
        learner.load(saved["learner"])
        obs = envs.current_obs
    for slot, agent in enumerate(agents):
        if saved is not None and run.episodes_went_on:
            agent.load(saved["agents"][slot])
        else:
            learner.begin(slot)
            agent.begin(int(run.generator.integers(SEEDS)))

    while (steps := min(BLOCK, (args.total_timesteps - run.global_step) // args.num_envs)) > 0:
        for _ in range(steps):
            actions = np.array([agent.act(state) for agent, state in zip(agents, states_of(obs), strict=True)])
            obs, rewards, terminations, truncations, _ = envs.step(actions)
            for slot, agent in enumerate(agents):
                reward = float(rewards[slot])
                if not math.isfinite(reward):
                    # The error that it would make; the table does not learn it, and the run ends.
                    run.scalars({"losses/td_loss": reward})
                agent.earn(reward)
                learner.earn(reward, slot)
                if terminations[slot] or truncations[slot]:
                    learner.end(terminated=bool(terminations[slot]), slot=slot)
                    agent.begin(int(run.generator.integers(SEEDS)))
        run.scalars({**learner.metrics(), "charts/SPS": run.steps_per_second()})

        if reason := run.checkpoint_reason(ended=args.total_timesteps - run.global_step < args.num_envs):
            run.checkpoint({"learner": learner.state(), "agents": [agent.state() for agent in agents]}, reason=reason)
        if reason == "stop":
            break


def _agent(run: Run, args: Args, plans: "Program", told: "Beliefs", learner: Learner, slot: int) -> "ResumableAgent":
    from cleanrl_worker.sdk.bdi import mailbox
    from cleanrl_worker.sdk.bdi.resumable_agent import ResumableAgent

    def choose(situation: str, names: Sequence[str]) -> str:
        return learner.choose(situation, names, run.generator, slot)

    name = f"agent_{slot}"
    box: mailbox.Mailbox = mailbox.Box(run.run_dir.root, name)
    if args.spade:
        from cleanrl_worker.sdk.bdi.spade_mailbox import SpadeBox

        box = SpadeBox(run.run_dir.root, name, args.spade_port)
        log.info("spade.joined", agent=f"{name}@localhost", port=box.port)
    return ResumableAgent(plans, told, choose, box, name=name, max_cycles=args.max_cycles)


def states_of(observations: Array) -> list[int]:
    """The numbers of the states, which environments show as one-hot rows."""
    return cast("list[int]", observations.argmax(1).tolist())


class PlanPolicy:
    """Chooses the plan worth most; asked to explore, sometimes any, with the share that its visits leave.

    Each row of observations has an agent of its own, whose intentions go on from one call to the next.
    """

    def __init__(self, table: Table, plans: "Program", told: "Beliefs", args: Args) -> None:
        self.table = table
        self._plans = plans
        self._told = told
        self._args = args
        self._coefficients = Coefficients(args.learning_rate, args.gamma, args.exploration, args.exploration_visits)
        self._agents: list[ResumableAgent] = []
        self._fresh: list[bool] = []
        self._generator = np.random.default_rng(0)
        self._deterministic = True
        self._said = ""

    def forget(self, slots: Array) -> None:
        self._fresh = [is_first or now for is_first, now in zip(self._padded(len(slots)), slots.tolist(), strict=True)]

    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        self._generator, self._deterministic = generator, deterministic
        self._fresh = self._padded(len(observations))
        while len(self._agents) < len(observations):
            self._agents.append(self._new_agent(len(self._agents)))
        actions: list[int] = []
        for slot, state in enumerate(states_of(observations)):
            if self._fresh[slot]:
                self._agents[slot].begin(int(generator.integers(SEEDS)))
                self._fresh[slot] = False
            self._said = "" if slot == 0 else self._said
            actions.append(self._agents[slot].act(state))
        return np.array(actions)

    def rewarded(self, rewards: Array) -> None:
        for agent, reward in zip(self._agents, rewards.tolist(), strict=False):
            agent.earn(reward)

    def in_torch(self) -> LikeliestActions:
        raise PolicyError("it acts by plans in AgentSpeak and not by a network, so torch cannot compute what it does")

    def explain(self, _: Array) -> dict[str, Any]:
        """What the agent of the first row intends, and between which plans it chose."""
        return {"note": "; ".join(filter(None, [self._agents[0].note, self._said]))}

    def _padded(self, rows: int) -> list[bool]:
        return [*self._fresh, *[True] * (rows - len(self._fresh))][:rows]

    def _new_agent(self, slot: int) -> "ResumableAgent":
        from cleanrl_worker.sdk.bdi import mailbox
        from cleanrl_worker.sdk.bdi.resumable_agent import ResumableAgent

        def choose(situation: str, plans: Sequence[str]) -> str:
            share = explored_share(self._coefficients, self.table.visits(situation))
            explores = not self._deterministic and bool(self._generator.random() < share)
            any_plan = plans[int(self._generator.integers(len(plans)))] if explores else ""
            chosen = any_plan or self.table.best(situation, plans, self._generator)
            if slot == 0:
                self._said = said_of(chosen, plans, self.table.values(situation, plans))
            return chosen

        # It plays alone, also where its plans have talked in training.
        name, box = f"agent_{slot}", mailbox.Alone()
        return ResumableAgent(self._plans, self._told, choose, box, name=name, max_cycles=self._args.max_cycles)


def said_of(chosen: str, plans: Sequence[str], values: Sequence[float]) -> str:
    """A choice in words: `@edge of @edge -13, @top -17`."""
    return f"{chosen} of " + ", ".join(f"{plan} {value:.3g}" for plan, value in zip(plans, values, strict=True))


def load(file: PolicyFile) -> Policy:
    extras.ALGORITHMS["bdi_q"].require("a policy of bdi_q")
    from cleanrl_worker.sdk.bdi import beliefs, plan_copy

    args = config.from_json(Args, file.args, what="policy file")
    if file.source is None:
        raise PolicyError("it carries no plans")
    arrays = file.group("agent")
    told = beliefs.from_text(arrays["beliefs"].tobytes().decode())
    return PlanPolicy(table_of(arrays), plan_copy.program_of(file.source), told, args)


if __name__ == "__main__":
    raise SystemExit(main("bdi_q"))
