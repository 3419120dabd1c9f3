"""One run as an object: what is known of it, what can be done with it, and how it shows itself."""

import asyncio
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.config import JsonValue
from mosaic.errors import PolicyError
from mosaic.notebook import live_card, run_card
from mosaic.notebook.data_frames import data_frame
from mosaic.rpc.client import Client, Series
from mosaic.rpc.evaluation_summary import summary_of
from mosaic.rpc.policy_info import PolicyInfo
from mosaic.spec import return_tags
from mosaic.spec.events import RETURN_TAG
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL, RunState

if TYPE_CHECKING:
    from PIL.Image import Image

    from mosaic.notebook.loaded_policy import LoadedPolicy

LOOK_AGAIN_S = 0.2
CURVE_POINTS = 300
FRAME_TIMEOUT_S = 20.0


class Run:
    """A run of a daemon. What it tells is asked for anew each time; it goes on whatever becomes of this object."""

    def __init__(self, client: Client, run_id: str) -> None:
        self._client = client
        self.id = run_id

    @property
    def record(self) -> RunRecord:
        """All that lists show of it, as it is now."""
        return self._client.get(self.id)

    @property
    def state(self) -> RunState:
        return self.record.state

    @property
    def label(self) -> str:
        return self.record.label

    @label.setter
    def label(self, label: str) -> None:
        self._client.set_label(self.id, label=label)

    @property
    def folder(self) -> Path:
        """Its run directory, on the daemon's machine."""
        return Path(self.record.run_dir)

    def wait(self, timeout_s: float | None = None) -> "Run":
        """Block until it has ended, or TimeoutError; the run goes on in any case."""
        if timeout_s is None:
            self._client.wait(self.id)
            return self
        deadline = time.monotonic() + timeout_s
        while (now := self.record).state not in TERMINAL:
            if time.monotonic() > deadline:
                raise TimeoutError(f"run {self.id} is {now.state.value} after {timeout_s:g} s, at {now.global_step:,}")
            time.sleep(LOOK_AGAIN_S)
        return self

    async def wait_async(self, timeout_s: float | None = None) -> "Run":
        """`wait` in a thread of its own."""
        return await asyncio.to_thread(self.wait, timeout_s)

    def watch(self, *, frames: bool = True, every_s: float = 0.5) -> "Run":
        """Show it live below the cell of a notebook until it ends; interrupting the cell leaves the run alone."""
        live_card.watch(self._client, self.id, self._curve, frames=frames, every_s=every_s)
        return self

    def tags(self) -> list[str]:
        """Names of its metrics."""
        return list(self._client.tags(self.id))

    def series(self, tag: str = RETURN_TAG, *, points: int = 0) -> Series:
        """One metric as plain lists; reduced to so many points, or all of them."""
        found = self._client.metrics(self.id, tags=[tag], points=points)
        return found.get(tag) or Series(tag, [], [], [], 0)

    def metrics(self, *tags: str, points: int = 0, library: str | None = None) -> Any:
        """A data frame with a row for each value: tag, step, value, time (Unix seconds); of all tags if none is named.

        Of pandas, or polars where that alone is installed; `library` names one of them.
        """
        found = self._client.metrics(self.id, tags=tags, points=points).values()
        columns = {
            "tag": [one.tag for one in found for _ in one.steps],
            "step": [step for one in found for step in one.steps],
            "value": [value for one in found for value in one.values],
            "time": [moment for one in found for moment in one.times],
        }
        return data_frame(columns, library)

    def log(self, stream: str = "stdout") -> str:
        """What it has printed so far, on stdout or stderr."""
        return b"".join(self._client.logs(self.id, stream=stream)).decode(errors="replace")

    def files(self) -> list[str]:
        """Paths in its run directory."""
        return sorted(self._client.files(self.id))

    def read(self, path: str) -> bytes:
        """One of its files."""
        return b"".join(self._client.read_artifact(self.id, path))

    def frame(self) -> "Image":
        """A picture of its environments, while it is running."""
        return live_card.picture_of(self._client, self.id, timeout_s=FRAME_TIMEOUT_S)

    def cancel(self) -> "Run":
        """End it; it saves a checkpoint first."""
        self._client.cancel(self.id)
        return self

    def pause(self) -> "Run":
        self._client.pause(self.id)
        return self

    def go_on(self) -> "Run":
        """Continue it where it was paused."""
        self._client.go_on(self.id)
        return self

    def resume(self, *, from_step: int | None = None) -> "Run":
        """Go on from its newest checkpoint; from an older one as a new run, which is returned."""
        return Run(self._client, self._client.resume(self.id, from_step=from_step).run_id)

    def delete(self) -> None:
        """Remove it with all its files."""
        self._client.delete(self.id)

    def evaluate(
        self,
        *,
        episodes: int = 50,
        seed: int = 1,
        deterministic: bool = False,
        env_settings: Mapping[str, JsonValue] | None = None,
    ) -> dict[str, Any]:
        """Play episodes with its policy, as a run of its own; what `eval_summary.json` says, and the `run_id`."""
        record = self._client.evaluate(
            self._saved_policy(),
            episodes=episodes,
            seed=seed,
            deterministic=deterministic,
            label=f"{self.label}, evaluated" if self.label else "",
            env_settings=env_settings,
        )
        [ended] = self._client.wait(record.run_id)
        if ended.state is not RunState.FINISHED:
            raise PolicyError(f"the evaluation {ended.run_id} ended {ended.state.value}: {ended.reason}")
        return {**summary_of(self._client, ended.run_id), "run_id": ended.run_id}

    async def evaluate_async(self, *, episodes: int = 50, seed: int = 1, deterministic: bool = False) -> dict[str, Any]:
        """`evaluate` in a thread of its own."""
        return await asyncio.to_thread(self.evaluate, episodes=episodes, seed=seed, deterministic=deterministic)

    def policy(self) -> "LoadedPolicy":
        """Its newest policy, in this process: `policy.predict(observation)`. Loads torch."""
        from mosaic.notebook import loaded_policy

        saved = self._saved_policy()
        if Path(saved.path).is_file():
            return loaded_policy.load(Path(saved.path))
        # The daemon is on another machine.
        inside = Path(saved.path).relative_to(self.folder).as_posix()
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / Path(saved.path).name
            copy.write_bytes(self.read(inside))
            return loaded_policy.load(copy)

    def _saved_policy(self) -> PolicyInfo:
        for policy in self._client.policies():
            if policy.run_id == self.id:
                return policy
        now = self.record
        why = f": {now.reason}" if now.reason else ""
        raise PolicyError(f"run {self.id} has saved no policy (yet); it is {now.state.value}{why}")

    def _curve(self) -> Series | None:
        tags = [tag for tag in self.tags() if tag == RETURN_TAG or return_tags.is_return(tag)]
        if not tags:
            return None
        return self.series(RETURN_TAG if RETURN_TAG in tags else tags[0], points=CURVE_POINTS)

    def __repr__(self) -> str:
        now = self.record
        label = f" '{now.label}'" if now.label else ""
        returns = "" if now.last_return is None else f", return {now.last_return:.1f}"
        return (
            f"<Run {self.id}{label}: {now.algo} on {now.env_id}, seed {now.seed}, {now.state.value},"
            f" {now.global_step:,} steps{returns}>"
        )

    def _repr_html_(self) -> str:
        now = self.record
        return run_card.card(now, self._curve())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)
