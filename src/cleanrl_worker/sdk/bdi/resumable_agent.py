"""An agent that can be put back into the middle of an episode, by living through the episode again.

An interpreter's intentions hold half-finished searches, which no file can. Reasoning is a function of the plans, the
seed, what was seen and earned, which plans were chosen and what others said, so these are kept, and an agent that is
told the same comes to the same intentions.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cleanrl_worker.sdk.bdi.beliefs import Beliefs
from cleanrl_worker.sdk.bdi.deliberation import Deliberation
from cleanrl_worker.sdk.bdi.mailbox import Mailbox, Repeatable
from cleanrl_worker.sdk.bdi.plan_file import Program
from mosaic.errors import CheckpointError

Choose = Callable[[str, Sequence[str]], str]


class ResumableAgent:
    """Sees the numbers of states, and answers with the numbers of actions, both from 0."""

    def __init__(
        self, plans: Program, beliefs: Beliefs, choose: Choose, box: Mailbox, *, name: str, max_cycles: int
    ) -> None:
        self._beliefs = beliefs
        self._choose = choose
        self._agent = Deliberation(plans, beliefs.surroundings, box, name=name, max_cycles=max_cycles)
        self._agent.choose = self._chosen
        self._box = box if isinstance(box, Repeatable) else None
        self._seed = 0
        self._states: list[int] = []
        self._actions: list[int] = []
        self._rewards: list[float] = []
        self._choices: list[str] = []
        self._repeating: list[str] | None = None

    def begin(self, seed: int) -> None:
        """An episode begins."""
        self._seed = seed
        self._states, self._actions, self._rewards, self._choices = [], [], [], []
        self._agent.begin(seed)

    def act(self, state: int) -> int:
        action = self._agent.decide(self._beliefs.seen[state], step=len(self._states))
        if self._box is not None:
            self._box.decided()
        self._states.append(state)
        self._actions.append(action)
        return action

    def earn(self, reward: float) -> None:
        """What the last action earned."""
        self._rewards.append(reward)
        self._agent.hear(self._actions[-1] + self._beliefs.first_action, reward)

    @property
    def note(self) -> str:
        return self._agent.note

    def state(self) -> dict[str, Any]:
        return {
            "seed": self._seed,
            "states": np.array(self._states, np.int64),
            "actions": np.array(self._actions, np.int64),
            "rewards": np.array(self._rewards, np.float64),
            "choices": list(self._choices),
            "letters": None if self._box is None else self._box.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Go through the episode again; CheckpointError where another interpreter or plan comes to another action."""
        self.begin(int(state["seed"]))
        self._repeating, letters = list(state["choices"]), state.get("letters")
        if self._box is not None and letters is not None:
            self._box.repeat(letters)
        actions, rewards = state["actions"].tolist(), state["rewards"].tolist()
        for at, seen in enumerate(state["states"].tolist()):
            if self.act(seen) != actions[at]:
                raise CheckpointError(
                    f"the plans decide otherwise at step {at} of an episode than they did before the checkpoint: they,"
                    " or the package agentspeak, have changed; begin a new run"
                )
            if at < len(rewards):
                self.earn(rewards[at])
        self._repeating = None
        if self._box is not None and letters is not None:
            self._box.go_on(letters)

    def close(self) -> None:
        self._agent.close()

    def _chosen(self, situation: str, plans: Sequence[str]) -> str:
        if self._repeating is None:
            chosen = self._choose(situation, plans)
        elif self._repeating and self._repeating[0] in plans:
            chosen = self._repeating.pop(0)
        else:
            raise CheckpointError("the plans offer other choices than they did before the checkpoint; begin a new run")
        self._choices.append(chosen)
        return chosen
