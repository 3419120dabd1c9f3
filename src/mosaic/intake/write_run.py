"""Writing a run of another tool as a run directory: complete under another name first, then renamed into the list."""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mosaic import config
from mosaic.errors import ConfigError, HomeUnusable, MosaicError
from mosaic.intake import cleanrl_settings
from mosaic.intake.found import Found, Moment, NotImportable
from mosaic.spec import events, manifest, run_config, run_record, ulid
from mosaic.spec.events import EARLIEST, LATEST, MAX_WHOLE, Event, RunCompleted, RunFailed, RunStarted
from mosaic.spec.files.shared_files import read_small, sync_folder, write_atomically
from mosaic.spec.manifest import Artifact, Manifest
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_list import all_runs, run_ids
from mosaic.spec.run_record import Placed
from mosaic.spec.states import RunState

MAX_SEED = 2**32 - 1
MARK = "import:"
"""How the idempotency key of a run that was taken in begins."""


class ImportUnderWay(MosaicError):
    """Two at once would take everything in twice."""


@contextmanager
def one_at_a_time(home: Home) -> Generator[None]:
    """What an import that was killed left behind is removed."""
    home.create()
    descriptor = os.open(home.imports_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ImportUnderWay(f"another import into {home.root} is under way; wait for it") from None
        shutil.rmtree(home.imports, ignore_errors=True)
        yield
    finally:
        shutil.rmtree(home.imports, ignore_errors=True)
        os.close(descriptor)


def known_runs(home: Home) -> dict[str, str]:
    """Identity of each run that was taken in before, and its run id; a run of ours is known by its id."""
    known = {run_id: run_id for run_id in run_ids(home)}
    for run_dir in all_runs(home):
        try:
            key = config.loads(read_small(run_dir.record)).get("client_key", "")
        except (OSError, ConfigError):
            # No record that can be read: not one that was taken in.
            continue
        if isinstance(key, str) and key.startswith(MARK):
            known[key.removeprefix(MARK)] = run_dir.run_id
    return known


def write(home: Home, found: Found, *, group: str = "") -> str:
    """The id of the new run; nothing is left of one that could not be written."""
    found = replace(
        found,
        moments=_dated(found.moments),
        seed=min(max(found.seed, 0), MAX_SEED),
        total_timesteps=min(max(found.total_timesteps, 0), MAX_WHOLE),
    )
    began = found.moments[0].time if found.moments else 0.0
    run_id = found.identity if found.tool == "MOSAIC" else _id_of(began)
    run_dir = RunDir(home.imports / run_id)
    try:
        run_dir.root.mkdir(mode=0o700, parents=True)
        copied = _copy(run_dir, found)
        if found.tool != "MOSAIC":
            _write_documents(run_dir, found, copied, group)
        # Where a start looks for it; before the run itself appears.
        write_atomically(home.config(run_id), _config_of(run_dir))
        run_dir.root.rename(home.run(run_id).root)
        sync_folder(home.runs)
    except OSError as error:
        raise HomeUnusable(f"{found.path} could not be copied to {home.runs}: {error}") from error
    finally:
        shutil.rmtree(run_dir.root, ignore_errors=True)
    return run_id


def _dated(moments: Sequence[Moment]) -> list[Moment]:
    """A time that no event can carry becomes that of the moment before."""
    dated: list[Moment] = []
    for moment in moments:
        before = dated[-1].time if dated else 0.0
        dated.append(moment if EARLIEST < moment.time < LATEST else replace(moment, time=before))
    return dated


def _config_of(run_dir: RunDir) -> bytes:
    try:
        return run_dir.config.read_bytes()
    except FileNotFoundError:
        raise NotImportable(f"there is no {run_dir.config.name} in it: the copy is not whole") from None


def _id_of(began: float) -> str:
    """Where the run belongs in time; a clock of before 1970 or of the far future is not believed."""
    return ulid.new(began if 0 < began < 2**33 else None)


def _copy(run_dir: RunDir, found: Found) -> list[str]:
    """Names of the copies; films go where a run keeps its own."""
    copied: list[str] = []
    for name, source in found.files.items():
        place = name.replace("videos/", f"videos/{run_dir.run_id}/", 1) if name.startswith("videos/") else name
        target = run_dir.inside(name if found.tool == "MOSAIC" else place)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            source.open("rb").close()
        except OSError as error:
            # Of this folder alone; what is wrong with the home ends the import.
            raise NotImportable(f"{source} cannot be read: {error.strerror or error}") from error
        if found.is_unpacked:
            source.rename(target)
        else:
            shutil.copyfile(source, target)
        copied.append(run_dir.relative(target))
    return copied


def _write_documents(run_dir: RunDir, found: Found, copied: list[str], group: str) -> None:
    run_dir.logs.mkdir(mode=0o700)
    moments = _whole(found)
    _write_events(run_dir.events, moments)
    text = json.dumps(_document(found), indent=1, default=str) + "\n"
    write_atomically(run_dir.config, text)
    manifest.write(run_dir, _manifest(run_dir, found, copied))
    run_record.write(run_dir, _placed(run_dir, found, moments, text, group))


def _whole(found: Found) -> list[Moment]:
    """With a beginning, and with the end where one is known."""
    first, last = found.moments[0].time, found.moments[-1].time
    start = RunStarted(
        algo=found.algo, env_id=found.env_id, seed=found.seed, total_timesteps=found.total_timesteps or found.last_step
    )
    whole = [Moment(first, start), *found.moments]
    if found.exit_code == 0:
        whole.append(Moment(last, RunCompleted(global_step=found.last_step)))
    elif found.exit_code is not None:
        message = f"{found.tool} says that it ended with exit code {found.exit_code}"
        whole.append(Moment(last, RunFailed(global_step=found.last_step, error="Imported", message=message)))
    return whole


def _write_events(path: Path, moments: list[Moment]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for seq, moment in enumerate(moments, start=1):
            file.write(events.encode(Event(seq, moment.time, moment.body)) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _document(found: Found) -> dict[str, Any]:
    """As a run config of ours, so that it can be read, compared and cloned like one."""
    worker = {
        "algo": found.algo,
        "env_id": found.env_id,
        "seed": found.seed,
        "total_timesteps": max(found.total_timesteps or found.last_step, 1),
        "extras": {"algo_params": cleanrl_settings.hyperparameters(found.settings), "notes": _origin(found)},
    }
    document = {
        "run_name": found.label,
        "environment": {"env_id": found.env_id},
        "artifacts": {"tensorboard": {"enabled": True}, "wandb": {"enabled": False}},
        "metadata": {
            "ui": {"imported": {"tool": found.tool, "path": str(found.path), "settings": dict(found.settings)}},
            "worker": {"config": worker},
        },
    }
    clean, _ = run_config.take_secrets(json.loads(json.dumps(document, default=str)))
    run_config.parse(clean)
    return clean


def _origin(found: Found) -> str:
    return f"imported from {found.tool}: {found.path}"


def _manifest(run_dir: RunDir, found: Found, copied: list[str]) -> Manifest:
    made = Manifest(
        run_id=run_dir.run_id, algo=found.algo, env_id=found.env_id, seed=found.seed, label=found.label
    ).adding(Artifact(kind="events", path="events.jsonl"))
    for artifact in _artifacts(found, copied):
        made = made.adding(artifact)
    return made


def _artifacts(found: Found, copied: list[str]) -> Iterator[Artifact]:
    for name in copied:
        if name.startswith("tensorboard/"):
            yield Artifact(kind="tensorboard", path="tensorboard")
        elif name.startswith("runs/"):
            yield Artifact(kind="policy", path=name)
        elif name.startswith("videos/"):
            yield Artifact(kind="video", path=name)
        elif found.tool == "Weights & Biases":
            yield Artifact(kind="wandb", path=f"imported/{found.path.name}")
        else:
            yield Artifact(kind="log", path=name)


def _placed(run_dir: RunDir, found: Found, moments: list[Moment], text: str, group: str) -> Placed:
    endings: Mapping[int | None, RunState] = {0: RunState.FINISHED, None: RunState.LOST}
    cut_off = " (it was cut off)" if found.exit_code is None else ""
    return Placed(
        run_id=run_dir.run_id,
        state=endings.get(found.exit_code, RunState.FAILED),
        reason=_origin(found) + cut_off,
        label=found.label,
        notes=_origin(found),
        algo=found.algo,
        env_id=found.env_id,
        seed=found.seed,
        group=group,
        total_timesteps=found.total_timesteps or found.last_step,
        config_digest=hashlib.sha256(text.encode()).hexdigest(),
        client_key=MARK + found.identity,
        submitted_at=moments[0].time,
        started_at=moments[0].time,
        ended_at=moments[-1].time,
        attempt=1 + sum(isinstance(moment.body, RunStarted) for moment in found.moments),
        exit_code=found.exit_code,
    )


def as_json(found: Found) -> config.JsonObject:
    """What `--json` prints of one."""
    return {
        "path": str(found.path),
        "tool": found.tool,
        "label": found.label,
        "algo": found.algo,
        "env_id": found.env_id,
        "seed": found.seed,
        "global_step": found.last_step,
        "remarks": list(found.remarks),
    }
