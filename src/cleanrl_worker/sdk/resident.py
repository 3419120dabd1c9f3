"""What a resident algorithm uses: environments on the device of its networks, and one report an iteration.

A resident algorithm steps its environments itself, many times in one recorded graph. Once an iteration one vector of
numbers leaves the device: the losses, the mean of all episodes that ended, and some of these episodes one by one, those
of the first environments.
"""

import math
from collections.abc import Sequence

import torch

from cleanrl_worker.sdk.vector import Envs
from mosaic.envs.tensor.tensor_task import Episodes, Outcome, advance
from mosaic.envs.vector.tensor_vector import TensorVec
from mosaic.spec.events import Episode, number

REPORTED = 16
"""The first environments, whose episodes are reported one by one; the mean is over all."""
MOST_EPISODES = 8
"""Reported one by one in an iteration: thousands of environments end more in one than a reader takes in."""


class ResidentEnvs:
    """Environments as tensors, and who is told of what became of them."""

    def __init__(self, envs: Envs, backend: TensorVec) -> None:
        self._envs, self._backend = envs, backend
        self.device = backend.device
        self.single_observation_space = backend.single_observation_space
        self.single_action_space = backend.single_action_space

    @property
    def episodes(self) -> Episodes:
        return self._backend.episodes

    @property
    def memory(self) -> list[torch.Tensor]:
        """The tensors that `put` writes into."""
        episodes = self._backend.episodes
        return [*episodes.state.values(), episodes.lengths, episodes.totals]

    def reset(self, seed: int) -> None:
        self._envs.reset(seed)

    def draws(self, steps: int) -> torch.Tensor:
        """The random numbers of so many steps, for `advance`."""
        return self._backend.draws(steps)

    def observe(self, episodes: Episodes) -> torch.Tensor:
        return self._backend.task.observe(episodes.state).flatten(1)

    def advance(self, episodes: Episodes, actions: torch.Tensor, draws: torch.Tensor) -> tuple[Episodes, Outcome]:
        """One step of every environment; nothing is written."""
        return advance(self._backend.task, episodes, actions, draws)

    def put(self, episodes: Episodes) -> None:
        """Go on from these."""
        self._backend.put(episodes)

    def advanced(self, report: "Report") -> None:
        """Count the steps of an iteration, tell of its episodes, and show a viewer where the environments are."""
        self._envs.advanced(report.steps, report.ended(self._envs.num_envs))


class Report:
    """What left the device of one iteration."""

    def __init__(self, names: Sequence[str], losses: torch.Tensor, rollout: torch.Tensor, *, steps: int) -> None:
        """`losses` has a row for each epoch, a column for each name; `rollout` is what `packed` made."""
        numbers: list[float] = torch.cat([losses.reshape(-1).double(), rollout]).tolist()
        width, places = len(names), losses.numel()
        self.steps = steps
        self.losses = dict(zip(names, numbers[places - width : places], strict=True))
        """Of the last minibatch; the share of clipped ratios is a mean over all."""
        clipped = numbers[names.index("clipfrac") : places : width]
        self.losses |= {"clipfrac": sum(clipped) / len(clipped), "explained_variance": numbers[places]}
        rest = numbers[places + 1 :]
        count, total, length = rest[:3]
        self.episodes = {
            "charts/avg_episodic_return": total / count if count else math.nan,
            "charts/avg_episodic_length": length / count if count else math.nan,
        }
        """Means over all episodes that ended in it."""
        self._rows = rest[3:]

    def ended(self, num_envs: int) -> list[tuple[int, Episode]]:
        """Some of the episodes, in the order of time: the step of the iteration, and the episode."""
        shown = min(REPORTED, num_envs)
        places = self.steps * shown
        overs, totals, lengths = (self._rows[part * places : (part + 1) * places] for part in range(3))
        found: list[tuple[int, Episode]] = []
        for place, over in enumerate(overs):
            if over and len(found) < MOST_EPISODES:
                step, slot = divmod(place, shown)
                episode = Episode(
                    global_step=0,
                    slot=slot,
                    episodic_return=number(totals[place]),
                    episodic_length=int(lengths[place]),
                )
                found.append((step, episode))
        return found


def packed(explained: torch.Tensor, outcomes: Sequence[Outcome], overs: torch.Tensor) -> torch.Tensor:
    """All that leaves the device of a rollout, as one vector; `overs` says, a row a step, which episodes ended."""
    totals = torch.stack([outcome.totals for outcome in outcomes])
    lengths = torch.stack([outcome.lengths for outcome in outcomes]).double()
    means = [explained.double(), overs.sum(dtype=torch.float64), (totals * overs).sum(), (lengths * overs).sum()]
    return torch.cat(
        [torch.stack(means), *(part[:, :REPORTED].reshape(-1).double() for part in (overs, totals, lengths))]
    )
