"""Train states on disk: `checkpoints/step-<n>/`, complete or absent, never in between (docs/protocols/checkpoint.md).

    state.json           format version, algorithm, its arguments, global step, the JSON part of the state, and the
                         digests of all files (`mosaic.spec.files.checkpoint_files`)
    arrays.safetensors   every array and tensor of the state
    *-<n>.safetensors    pages of the arrays that are saved page by page (`cleanrl_worker.sdk.checkpoints.paged_array`)

Written and removed under a temporary name (`.step-<n>.tmp`), fsynced, renamed. The last `keep` and the best (mean
return of the last 100 episodes) stay, older ones are removed after the new one is complete.
"""

import math
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from safetensors import SafetensorError
from safetensors.numpy import load_file

from cleanrl_worker.sdk.checkpoints import array_file, paged_array, state_tree
from mosaic.errors import CheckpointError, HomeUnusable
from mosaic.spec import own_code
from mosaic.spec.environment_settings import spoken
from mosaic.spec.files import checkpoint_files, digests, source_copy
from mosaic.spec.files.checkpoint_files import ADVICE, ARRAYS, DOCUMENT, FORMAT
from mosaic.spec.files.checkpoint_files import steps as list_steps
from mosaic.spec.files.digests import FileDigest
from mosaic.spec.files.shared_files import sync_folder, temporary_of
from mosaic.spec.files.source_copy import SourceCopy
from mosaic.spec.run_dir import RunDir

NETWORK = (
    *("n_atoms", "v_min", "v_max", "n_quantiles", "n_critics"),
    *("critic_width", "critic_blocks", "actor_width", "actor_blocks"),
)
FIXED = ("env_id", "seed", "num_envs", "num_steps", "buffer_size", *NETWORK, "plans", "best_episodes")
"""Settings that a run keeps: iterations are counted in rollouts, a buffer has its size, a network its shape."""


@dataclass(frozen=True, kw_only=True)
class Header:
    """What a checkpoint says of itself before its arrays are read."""

    algo: str
    args: dict[str, Any]
    global_step: int
    mean_return: float | None
    threads: int | None = None
    """Of torch; None in a checkpoint of an earlier version."""
    source: dict[str, Any] | None = None
    """A copy of the code of an algorithm of a user's (`mosaic.spec.files.source_copy`); None for ours."""
    env_settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """Settings of the environment; empty also in a checkpoint of an earlier version, which knew none."""
    env_sources: dict[str, Any] = field(default_factory=dict[str, Any])
    """Copies of the code of an environment and of wrappers of a user's (`mosaic.spec.own_code`)."""

    @property
    def source_copy(self) -> SourceCopy | None:
        """None also where the copy is damaged: it is there to be read, and the rest of the checkpoint is whole."""
        try:
            return None if self.source is None else source_copy.from_json(self.source)
        except source_copy.BadSource:
            return None

    @property
    def env_source_copies(self) -> dict[str, SourceCopy]:
        """Likewise of the environment."""
        try:
            return own_code.from_json(self.env_sources)
        except source_copy.BadSource:
            return {}


def save(run_dir: RunDir, header: Header, state: state_tree.Tree) -> Path:
    """Write one checkpoint, whole or not at all."""
    _write(run_dir, header, *state_tree.split(state), _pages(state, {}, copy=False), ready=lambda: None)
    return run_dir.checkpoint(header.global_step)


Pages = list[paged_array.PageCopy | paged_array.PageLink]


def _pages(state: state_tree.Tree, before: Mapping[str, paged_array.SavedPages], *, copy: bool) -> Pages:
    found = state_tree.paged(state).items()
    return [part for name, pages in found for part in paged_array.plan(name, pages, before.get(name), copy=copy)]


def _write(
    run_dir: RunDir, header: Header, document: Any, arrays: dict[str, Any], pages: Pages, *, ready: Callable[[], None]
) -> dict[str, FileDigest]:
    """`ready` is called when everything is on disk but the name; the digests of all files but `state.json`."""
    target = run_dir.checkpoint(header.global_step)
    temporary = temporary_of(target)
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        files = {ARRAYS: array_file.write(temporary / ARRAYS, arrays)}
        for part in pages:
            files[part.file] = part.put(temporary)
        # Last, because it has the digests of the others.
        content = {"format": FORMAT, **vars(header), "state": document}
        _write_synced(temporary / DOCUMENT, checkpoint_files.encode(content, files))
        ready()
        shutil.rmtree(target, ignore_errors=True)
        temporary.rename(target)
        sync_folder(run_dir.checkpoints)
    except OSError as error:
        raise HomeUnusable(
            f"the checkpoint of step {header.global_step} could not be written: {error};"
            f" older ones are intact: free some disk and go on with --resume {run_dir.root}"
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return files


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def superseded(run_dir: RunDir, *, keep: int) -> list[int]:
    """All but the last `keep` and the best."""
    best = best_step(run_dir)
    return [step for step in list_steps(run_dir)[:-keep] if step != best]


def best_step(run_dir: RunDir) -> int | None:
    """The checkpoint with the highest mean return, the later of equal ones."""
    scores = {step: _score(run_dir.checkpoint(step)) for step in list_steps(run_dir)}
    best = max(scores, key=lambda step: (scores[step], step), default=None)
    return None if best is None or scores[best] == -math.inf else best


def _score(folder: Path) -> float:
    try:
        score = read_header(folder).mean_return
    except CheckpointError:
        return -math.inf  # A damaged one is never the best, and no reason to end a run that trains well.
    return score if score is not None and math.isfinite(score) else -math.inf


def remove(run_dir: RunDir, steps: Iterable[int]) -> None:
    for step in steps:
        # Renamed first: a kill in the middle would leave a part that looks like a checkpoint.
        doomed = temporary_of(run_dir.checkpoint(step))
        shutil.rmtree(doomed, ignore_errors=True)
        run_dir.checkpoint(step).rename(doomed)
        shutil.rmtree(doomed)


def clear_leftovers(run_dir: RunDir, *, after: int) -> None:
    """What an attempt that was killed or is abandoned left behind: parts, and checkpoints later than `after`."""
    for part in run_dir.checkpoints.glob(".step-*.tmp"):
        shutil.rmtree(part)
    remove(run_dir, [step for step in list_steps(run_dir) if step > after])


def latest(run_dir: RunDir) -> Path | None:
    steps = list_steps(run_dir)
    return run_dir.checkpoint(steps[-1]) if steps else None


def read_header(folder: Path) -> Header:
    return _header(checkpoint_files.read(folder), folder)


def check_fits(folder: Path, *, algo: str, args: Mapping[str, Any], env_settings: Mapping[str, Any]) -> Header:
    """A run goes on as what it was: the algorithm, the environment and `FIXED` cannot change, other settings may.

    What it was is returned.
    """
    header = read_header(folder)
    before, now = {"algo": header.algo, **header.args}, {"algo": algo, **args}
    for name in ("algo", *FIXED):
        if name in now and before.get(name) != now[name]:
            raise CheckpointError(
                f"{folder} was saved with {name} {before.get(name)}, not {now[name]}; start another run for that"
            )
    if header.env_settings != dict(env_settings):
        was, now_is = (spoken(one) or "no settings" for one in (header.env_settings, env_settings))
        raise CheckpointError(
            f"{folder} was saved in an environment with {was}, not with {now_is}; start another run for that"
        )
    return header


class Saved(dict[str, Any]):
    """What an algorithm saved, as it gets it back; what is not there is the checkpoint's fault, and said so."""

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "Saved":
        return cls({key: cls.of(value) if isinstance(value, dict) else value for key, value in state.items()})

    def __missing__(self, key: str) -> Any:
        raise CheckpointError(
            f"the checkpoint holds no '{key}': it was saved by another version, or on another device, where a learner"
            " keeps other things (a GPU trains in torch, a CPU by hand); resume it on such a device, a CPU's with"
            " --no-cuda"
        )


def load(folder: Path, *, algo: str, checked: bool = False) -> tuple[Header, state_tree.Tree]:
    """A checkpoint, checked to be one of ours, of this algorithm and, unless it was `checked` already, whole."""
    document = checkpoint_files.read(folder)
    header = _header(document, folder)
    if header.algo != algo:
        raise CheckpointError(f"{folder} was written by '{header.algo}'; it cannot be resumed with '{algo}'")
    files = checkpoint_files.listed(document, folder) or {}
    arrays = files.get(ARRAYS)
    if arrays is not None and not checked and (problem := digests.difference(folder / ARRAYS, arrays)):
        raise CheckpointError(f"{folder / ARRAYS} is damaged: {problem}; {ADVICE}")
    pages = partial(paged_array.SavedPages, folder, digests=files, checked=checked)
    try:
        return header, state_tree.join(document["state"], load_file(folder / ARRAYS), pages)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{folder} is damaged ({error}); {ADVICE}") from error


def _header(document: dict[str, Any], folder: Path) -> Header:
    earlier: dict[str, Any] = {"threads": None, "source": None, "env_settings": {}, "env_sources": {}}
    try:
        return Header(**{field.name: (earlier | document)[field.name] for field in fields(Header)})
    except KeyError as error:
        raise CheckpointError(f"{folder} is damaged: {error} is missing; {ADVICE}") from error


class BackgroundWriter:
    """Writes one checkpoint at a time in its own thread; the learner pays for a copy in memory only."""

    def __init__(self, run_dir: RunDir) -> None:
        self._run_dir = run_dir
        self._thread: threading.Thread | None = None
        self._before: dict[str, paged_array.SavedPages] = {}
        self.error: Exception | None = None

    @property
    def busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def start(
        self,
        header: Header,
        state: state_tree.Tree,
        *,
        ready: Callable[[], None],
        done: Callable[[Path], None],
        waits: bool = False,
    ) -> None:
        """Copy now, write later; the writer's thread calls `ready` before and `done` after the name is given.

        With `waits` the caller waits until all is written, so pages need not be copied.
        """
        document, arrays = state_tree.split(state)
        pages, now = _pages(state, self._before, copy=not waits), state_tree.paged(state)
        folder = self._run_dir.checkpoint(header.global_step)
        following = {
            name: paged_array.SavedPages(folder, name, tuple(each.stamps), each.array.shape)
            for name, each in now.items()
        }

        def work() -> None:
            try:
                files = _write(self._run_dir, header, document, arrays, pages, ready=ready)
                self._before = {name: replace(each, digests=files) for name, each in following.items()}
                done(folder)
            except Exception as error:  # A border: the learner reads it from `error` and ends the run with it.
                self.error = error

        self._thread = threading.Thread(target=work, name="checkpoint", daemon=True)
        self._thread.start()

    def go_on_from(self, state: state_tree.Tree) -> None:
        """`state` was loaded: what does not change from there on need not be written again."""
        self._before = _saved_pages(state)

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()


def _saved_pages(state: state_tree.Tree) -> dict[str, paged_array.SavedPages]:
    if isinstance(state, paged_array.SavedPages):
        return {state.name: state}
    items = cast("Mapping[str, Any]", state).values() if isinstance(state, Mapping) else ()
    return {name: pages for value in items for name, pages in _saved_pages(value).items()}
