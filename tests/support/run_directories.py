"""Run directories written by hand: a home with healthy and damaged runs costs milliseconds, not trainings."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mosaic import config
from mosaic.spec.manifest import Artifact, Manifest
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import Placed
from mosaic.spec.states import RunState

TIME = 1_763_200_000.0
STEPS = 400

BODIES: dict[str, dict[str, Any]] = {
    "run.started": {
        "algo": "ppo",
        "env_id": "CartPole-v1",
        "seed": 3,
        "total_timesteps": STEPS,
        "attempt": 1,
        "resumed_from_step": None,
        "exact": True,
        "pid": 17,
        "host": "here",
    },
    "run.heartbeat": {"global_step": 100, "steps_per_s": 50.0},
    "scalars": {"global_step": 200, "values": {"losses/value_loss": 0.5, "charts/SPS": 100}},
    "episode": {"global_step": 300, "slot": 0, "episodic_return": 21.0, "episodic_length": 21},
    "checkpoint.saved": {"global_step": 300, "path": "checkpoints/step-300", "reason": "interval"},
    "policy.saved": {"global_step": 300, "path": "runs/x/ppo.cleanrl_model"},
    "video.saved": {"path": "videos/a.mp4", "episode_id": 1, "episodic_return": "nan", "episodic_length": 9},
    "fastlane.opened": {"path": "/dev/shm/ring", "environments": 4},
    "eval.batch": {
        "batch": 1,
        "episodes": 2,
        "mean": 20.0,
        "std": 1.0,
        "minimum": 19.0,
        "maximum": 21.0,
        "median": 20.0,
        "iqm": 20.0,
        "iqm_low": 19.0,
        "iqm_high": 21.0,
        "mean_length": 20.0,
        "seed": 5,
        "duration_s": 0.25,
    },
    "run.warning": {"message": "look out"},
    "run.failed": {"global_step": 300, "error": "Oops", "message": "it failed"},
    "run.completed": {"global_step": STEPS, "stopped": False, "reason": ""},
}
"""A body of every kind."""


def line_of(seq: object, kind: object, body: dict[str, Any], /, **head: Any) -> bytes:
    data = {"v": 1, "seq": seq, "time": TIME, "kind": kind, **body, **head}
    return json.dumps(data, separators=(",", ":")).encode()


def healthy_lines() -> list[bytes]:
    """One event of every kind that does not end the run, and its end."""
    kinds = [kind for kind in BODIES if kind != "run.failed"]
    return [line_of(seq, kind, BODIES[kind]) for seq, kind in enumerate(kinds, start=1)]


def make_run(home: Home, number: int, lines: Iterable[bytes], *, record: bool = True) -> RunDir:
    """A finished run, whole; `number` tells runs apart and orders them."""
    run_dir = home.run(f"01K9CG05J5Y0FFQMT1{number:08d}")
    run_dir.create()
    run_dir.events.write_bytes(b"".join(line + b"\n" for line in lines))
    run_dir.config.write_text(json.dumps({"run_name": f"run {number}", "metadata": {"worker": {"config": {}}}}))
    told = Manifest(run_id=run_dir.run_id, algo="ppo", env_id="CartPole-v1", seed=3, label=f"run {number}")
    # Written without a sync: some tests make hundreds.
    run_dir.manifest.write_text(json.dumps(config.to_json(told.adding(Artifact(kind="events", path="events.jsonl")))))
    if record:
        run_dir.record.write_text(json.dumps(config.to_json(placed_of(run_dir, number))))
    return run_dir


def placed_of(run_dir: RunDir, number: int) -> Placed:
    return Placed(
        run_id=run_dir.run_id,
        state=RunState.FINISHED,
        label=f"run {number}",
        algo="ppo",
        env_id="CartPole-v1",
        seed=3,
        total_timesteps=STEPS,
        submitted_at=TIME,
        started_at=TIME,
        ended_at=TIME + 9,
        attempt=1,
    )


def write_policy(path: Path, *, header: bytes | None = None, **changes: Any) -> Path:
    """A safetensors file with a header of ours and no tensors."""
    metadata = {
        "format": "mosaic-policy-1",
        "algo": "ppo",
        "env_id": "CartPole-v1",
        "args": '{"seed": 3}',
        "global_step": "300",
    }
    text = json.dumps({"__metadata__": metadata | changes}).encode() if header is None else header
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(len(text).to_bytes(8, "little") + text)
    return path
