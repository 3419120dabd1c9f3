"""Run directories as an attacker or a clumsy copy would leave them: written by hand, with any text in any field."""

import json
from pathlib import Path
from typing import Any

from mosaic.spec import manifest, run_record
from mosaic.spec.events import Episode, Event, EventBody, RunCompleted, RunFailed, RunStarted, Scalars, encode
from mosaic.spec.manifest import Artifact, Manifest
from mosaic.spec.run_dir import Home, RunDir, new_run_id
from mosaic.spec.run_record import Placed
from mosaic.spec.states import RunState


def plant(
    home: Home, *artifacts: Artifact, run_id: str = "", events: tuple[EventBody, ...] = (), **placed: Any
) -> RunDir:
    """A run that has ended, before a daemon of this home starts; `placed` are fields of its run.json."""
    run_dir = home.run(run_id or new_run_id())
    run_dir.create()
    fields: dict[str, Any] = {"state": RunState.FINISHED, "algo": "ppo", "env_id": "CartPole-v1", "attempt": 1}
    fields |= {"submitted_at": 1.7e9, "started_at": 1.7e9, "ended_at": 1.7e9 + 60, "total_timesteps": 1000} | placed
    about = {name: fields[name] for name in ("algo", "env_id")} | {"seed": 1, "label": fields.get("label", "")}
    write_events(run_dir, *(events or finished(about["env_id"])))
    manifest.write(run_dir, Manifest(run_id=run_dir.run_id, artifacts=artifacts, **about))
    worker = {"algo": fields["algo"], "env_id": fields["env_id"], "total_timesteps": 1000, "seed": 1, "extras": {}}
    document = {"environment": {"env_id": fields["env_id"]}, "metadata": {"worker": {"config": worker}}}
    run_dir.config.write_text(json.dumps(document | fields.get("config", {})))
    fields.pop("config", None)
    run_dir.stdout.write_text("a line of its log\n")
    run_dir.stderr.write_text("a line of its stderr\n")
    run_record.write(run_dir, Placed(run_id=run_dir.run_id, **fields))
    return run_dir


def finished(env_id: str = "CartPole-v1") -> tuple[EventBody, ...]:
    return (
        RunStarted(algo="ppo", env_id=env_id, seed=1, total_timesteps=1000),
        Episode(global_step=10, slot=0, episodic_return=3.0, episodic_length=10),
        Scalars(global_step=10, values={"losses/value_loss": 1.0}),
        RunCompleted(global_step=1000),
    )


def write_events(run_dir: RunDir, *bodies: EventBody) -> None:
    lines = [encode(Event(seq, 1.7e9 + seq, body)) + "\n" for seq, body in enumerate(bodies, 1)]
    run_dir.events.write_text("".join(lines))


def file_in(run_dir: RunDir, name: str, content: str = "inside\n") -> Path:
    path = run_dir.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


__all__ = ["Artifact", "RunFailed", "file_in", "finished", "plant", "write_events"]
