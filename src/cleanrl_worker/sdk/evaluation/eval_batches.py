"""Batches of evaluation episodes: played in parallel environments, summed up, reported.

Every environment plays a fixed quota: episode i of a batch belongs to environment i modulo their number, whichever is
first. Taking the first n episodes to end instead would over-represent short ones. Episode i of an evaluation, counted
over all batches, begins with `reset(seed=seed + i)`, whatever happened before it: two policies that are evaluated with
the same seed meet the same episodes. Where the environments share one generator (they exist only as a vector) there is
one seed for all of a batch, and no such pairs: the summary says so.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from cleanrl_worker.sdk.evaluation import episode_bound
from cleanrl_worker.sdk.evaluation.eval_plan import Plan
from cleanrl_worker.sdk.policy import Policy, RecurrentPolicy, RewardedPolicy
from cleanrl_worker.sdk.record.event_recorder import EventRecorder, Pulse
from cleanrl_worker.sdk.record.manifest_writer import ManifestWriter
from cleanrl_worker.sdk.vector import Envs
from mosaic import envs
from mosaic.errors import HomeUnusable
from mosaic.spec import return_statistics as statistics
from mosaic.spec.events import Episode, EvalBatch, Heartbeat, Number, Scalars, Warned, number
from mosaic.spec.files.shared_files import write_atomically
from mosaic.spec.manifest import Artifact

SEEDS = 2**32
WRITE_INTERVAL_S = 0.5
WRITE_SHARE = 0.05
"""The history of a repeating evaluation is written whole, so not for each of hundreds of batches a second; and it grows
without end, so never for more than this share of the time."""
IN_SUMMARY = {"minimum": "min", "maximum": "max"}
"""What `eval_summary.json` calls otherwise than the event does."""


class Batches:
    """Batches of episodes, one after the other, each summed up in `eval_summary.json`."""

    def __init__(self, plan: Plan, vector: envs.VecEnv, manifest_writer: ManifestWriter) -> None:
        self._plan = plan
        self._vector = vector
        self._manifest_writer = manifest_writer
        self._is_bounded = episode_bound.is_needed(plan.env_id, plan.env_settings)
        self._stopping = False
        self._written = 0
        self._write_at = 0.0
        self._pulse = Pulse()
        self.lanes = Envs(vector, lambda _: None)
        self.progress = Quotas([])
        self.summaries: list[dict[str, Any]] = []
        self.episodes = 0
        """Episodes of complete batches."""

    def stop(self) -> None:
        """Ask for the end. An unfinished batch is dropped: its short episodes would be over-represented."""
        self._stopping = True

    def beat(self) -> Heartbeat | None:
        """How far it is, once a second; called by the recorder's thread. Steps are episodes here."""
        rate = self._pulse.steps_per_s(self.lanes.global_step)
        step = self.episodes + self.progress.played
        return None if rate is None else Heartbeat(global_step=step, steps_per_s=rate)

    def play(self, recorder: EventRecorder) -> None:
        flags = self._plan.flags
        try:
            while not self._stopping and (flags.repeat or not self.summaries):
                started = time.monotonic()
                self.progress = Quotas(batch_seeds(flags.seed, len(self.summaries), flags.episodes))
                episodes = play(
                    self._plan.actor,
                    self._vector,
                    self.progress,
                    deterministic=flags.deterministic,
                    stop=lambda: self._stopping or recorder.error is not None,
                    lanes=self.lanes,
                )
                if episodes is not None:
                    summary = summed_up(episodes, duration_s=round(time.monotonic() - started, 3))
                    self._report(recorder, episodes, {"batch": len(self.summaries) + 1} | summary)
                if recorder.error is not None:
                    raise recorder.error
        finally:
            self._write()

    def _report(self, recorder: EventRecorder, episodes: Sequence[Episode], summary: dict[str, Any]) -> None:
        for index, episode in enumerate(episodes, start=self.episodes):
            values: dict[str, Number] = {
                "eval/episodic_return": episode.episodic_return,
                "eval/episodic_length": float(episode.episodic_length),
            }
            recorder.emit(Scalars(global_step=index, values=values))
        summary |= {"seed": self.progress.seeds[0], "each_seeded": self.progress.each_seeded}
        summary |= {"deterministic": self._plan.flags.deterministic}
        self.episodes += len(episodes)
        self.progress = Quotas([])
        self.summaries.append(summary)
        if self.lanes.live is not None:
            self.lanes.live.line = line_of(summary)
        if time.monotonic() >= self._write_at:
            self._write()
        told = {field.name: summary[IN_SUMMARY.get(field.name, field.name)] for field in fields(EvalBatch)}
        recorder.emit(EvalBatch(**told))
        if self._is_bounded and (warning := episode_bound.said_of(episodes, self._plan.env_id)):
            recorder.emit(Warned(message=warning))

    def _write(self) -> None:
        """The whole history, atomically, and the manifest."""
        count = len(self.summaries)
        if count == self._written:
            return
        path, began = self._plan.run_dir.eval_summary, time.monotonic()
        try:
            write_atomically(path, json.dumps(self.summaries, indent=1) + "\n")
        except OSError as error:
            raise HomeUnusable(f"{path} could not be written: {error}; free some disk and evaluate again") from error
        label = f"{count} batch{'es' if count > 1 else ''}, {self.episodes} episodes"
        self._manifest_writer.add(Artifact(kind="eval_summary", path=self._plan.run_dir.relative(path), label=label))
        now = time.monotonic()
        self._written, self._write_at = count, now + max(WRITE_INTERVAL_S, (now - began) / WRITE_SHARE)


class Quotas:
    """Which environment still has which episodes of a batch to play."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self.seeds = seeds
        self.played = 0
        self.left: list[int] = []
        self.each_seeded = True
        """Every episode begins with its own seed; False where the seed of the first seeds them all together."""

    def share(self, num_envs: int) -> list[Sequence[int]]:
        """The seeds of each environment's episodes."""
        shares = [self.seeds[slot::num_envs] for slot in range(num_envs)]
        self.left = [len(share) for share in shares]
        return shares


def batch_seeds(first: int, batch: int, episodes: int) -> list[int]:
    """Of the episodes of a batch, counted from 0; no two episodes of an evaluation have the same."""
    start = first + batch * episodes
    return [(start + index) % SEEDS for index in range(episodes)]


def play(
    actor: Policy,
    vector: envs.VecEnv,
    quotas: Quotas,
    *,
    deterministic: bool,
    stop: Callable[[], bool] = lambda: False,
    lanes: Envs | None = None,
) -> list[Episode] | None:
    """One episode for each seed, in the order of the seeds; None if it was stopped before all had ended."""
    num_envs = vector.num_envs
    shares = quotas.share(num_envs)
    left, total = quotas.left, len(quotas.seeds)
    played: list[Episode | None] = [None] * total

    def take(episode: Episode) -> None:
        slot = episode.slot
        if left[slot] > 0:
            played[(len(shares[slot]) - left[slot]) * num_envs + slot] = episode
            left[slot] -= 1
            quotas.played += 1

    lanes = lanes or Envs(vector, take)
    lanes.report_to(take)
    generator = np.random.default_rng(quotas.seeds[0])
    quotas.each_seeded = vector.seed_episodes(shares)
    obs = lanes.reset(None if quotas.each_seeded else quotas.seeds[0])
    starts = np.ones(num_envs, np.bool_)
    remembering = actor if isinstance(actor, RecurrentPolicy) else None
    rewarded = actor if isinstance(actor, RewardedPolicy) else None
    while quotas.played < total:
        if stop():
            return None
        if remembering is not None:
            remembering.forget(starts)
        actions = actor.act(obs, generator, deterministic=deterministic)
        obs, rewards, terminations, truncations, _ = lanes.step(actions)
        if rewarded is not None:
            rewarded.rewarded(rewards)
        starts = terminations | truncations
    return [episode for episode in played if episode is not None]


def summed_up(episodes: Sequence[Episode], *, duration_s: float) -> dict[str, Any]:
    """A batch as `eval_summary.json` keeps it; numbers that JSON cannot carry as in events."""
    returns = np.array([float(episode.episodic_return) for episode in episodes])
    lengths = np.array([episode.episodic_length for episode in episodes])
    with np.errstate(invalid="ignore"):  # Infinite returns have no standard deviation.
        middle = statistics.iqm(returns)
        summary = {
            "mean": returns.mean(),
            "std": returns.std(),
            "min": returns.min(),
            "max": returns.max(),
            "median": np.median(returns),
            "iqm": middle.value,
            "iqm_low": middle.low,
            "iqm_high": middle.high,
            "mean_length": lengths.mean(),
        }
    whole = {"min_length": int(lengths.min()), "max_length": int(lengths.max()), "duration_s": duration_s}
    return {"episodes": len(returns)} | {key: number(float(value)) for key, value in summary.items()} | whole


def line_of(summary: dict[str, Any]) -> str:
    """For the HUD."""
    mean, std, low, high = (float(summary[key]) for key in ("mean", "std", "min", "max"))
    batch, episodes = summary["batch"], summary["episodes"]
    return f"batch {batch}: {episodes} episodes, return {mean:.1f} ± {std:.1f} (min {low:.1f}, max {high:.1f})"
