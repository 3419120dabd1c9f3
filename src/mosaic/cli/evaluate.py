"""`mosaic evaluate RUN|POLICY [flags]`: play episodes with a trained policy, as a run of the daemon."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic.cli import INTERRUPTED
from mosaic.cli.following import RunFailed, detached, follow
from mosaic.cli.pick import pick
from mosaic.cli.reach import connect, parser
from mosaic.cli.screen import note, print_json
from mosaic.errors import PolicyError, RunNotFound
from mosaic.rpc.client import Client
from mosaic.spec.run_config import (
    Artifacts,
    Environment,
    Metadata,
    PolicyEvalExtras,
    Toggle,
    TrainRunConfig,
    Worker,
    WorkerConfig,
)
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

SUMMARY = "eval_summary.json"
MAX_HEADER_BYTES = 16 * 2**20


def main(argv: Sequence[str]) -> int:
    flags = _flags(argv)
    with connect() as client:
        policy, env_id = find_policy(client, flags.what)
        document = document_of(
            policy,
            flags.env_id or env_id,
            episodes=flags.episodes,
            seed=flags.seed,
            repeat=flags.repeat,
            deterministic=flags.deterministic,
            tensorboard=not flags.no_tensorboard,
            label=flags.label,
        )
        [run] = client.submit(document)
        if flags.detach:
            print(run.run_id)
            return 0
        try:
            summary = result_of(client, run)
        except KeyboardInterrupt:
            detached([run])
            return INTERRUPTED
    if flags.json:
        print_json(summary | {"run_id": run.run_id})
    else:
        print(line_of(summary))
        note(f"run directory: {run.run_dir}")
    return 0


def _flags(argv: Sequence[str]) -> argparse.Namespace:
    words = parser("evaluate", "Play episodes with a trained policy and print what it scored.", json=True)
    words.add_argument("what", metavar="RUN|POLICY", help="a run that saved a policy, or a *.cleanrl_model file")
    words.add_argument("--episodes", type=int, default=50, metavar="N", help="episodes a batch (default 50)")
    words.add_argument("--seed", type=int, default=1, metavar="N", help="seed of the first environment (default 1)")
    words.add_argument("--repeat", action="store_true", help="further batches until the run is cancelled")
    words.add_argument("--deterministic", action="store_true", help="take the likeliest action instead of sampling")
    words.add_argument("--env-id", metavar="ID", help="another environment than the one it was trained in")
    words.add_argument("--label", default="", help="name for people")
    words.add_argument("--no-tensorboard", action="store_true", help="write no TensorBoard files")
    words.add_argument("--detach", action="store_true", help="print the id of the run and return")
    flags = words.parse_args(argv)
    if flags.episodes < 1 or not 0 <= flags.seed < 2**32:
        words.error("--episodes must be at least 1" if flags.episodes < 1 else "--seed must be from 0 to 4294967295")
    return flags


def find_policy(client: Client, word: str) -> tuple[str, str]:
    """Path of a policy on the daemon's machine, and the environment that it was trained in."""
    path = Path(word).expanduser()
    if path.is_file():
        return str(path.absolute()), read_env_id(path)
    # @last is here the last run that saved a policy: an evaluation is a run too, and saves none.
    runs = (run for run in client.list() if run.kind == "train") if word == "@last" else [pick(client, word)]
    for run in runs:
        if policy := policy_of(client, run):
            return policy, run.env_id
        if word != "@last":
            raise PolicyError(f"run {run.run_id} has saved no policy (yet); 'mosaic show {word}' shows how far it is")
    raise RunNotFound(word, hint="no run saved a policy yet; 'mosaic train ppo' makes one")


def policy_of(client: Client, run: RunRecord) -> str | None:
    """The newest policy file of a run."""
    found = [artifact.path for artifact in client.artifacts(run.run_id) if artifact.kind == "policy"]
    return f"{run.run_dir}/{found[-1]}" if found else None


def read_env_id(path: Path) -> str:
    """From the header of a policy file: a length (uint64, little endian), then so many bytes of JSON."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header: Any = json.loads(file.read(length)) if length <= MAX_HEADER_BYTES else {}
        return str(header["__metadata__"]["env_id"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PolicyError(f"{path} is no MOSAIC policy; train one, or give the id of a run") from error


def document_of(
    policy: str,
    env_id: str,
    *,
    episodes: int,
    seed: int = 1,
    repeat: bool = False,
    deterministic: bool = False,
    tensorboard: bool = True,
    label: str = "",
) -> TrainRunConfig:
    extras = PolicyEvalExtras(
        mode="policy_eval",
        policy_path=policy,
        eval_episodes=episodes,
        eval_repeat=repeat,
        eval_deterministic=deterministic,
    )
    return TrainRunConfig(
        run_name=label,
        environment=Environment(env_id=env_id),
        artifacts=Artifacts(tensorboard=Toggle(enabled=tensorboard)),
        metadata=Metadata(worker=Worker(config=WorkerConfig(env_id=env_id, seed=seed, extras=extras))),
    )


def result_of(client: Client, run: RunRecord) -> dict[str, Any]:
    """Follow an evaluation to its end; the summary of its last batch."""
    # What is printed of it is the result alone.
    [ended] = follow(client, [run], tell=note)
    if ended.state is not RunState.FINISHED:
        raise RunFailed(ended)
    return json.loads(b"".join(client.read_artifact(run.run_id, SUMMARY)))[-1]


def line_of(summary: Mapping[str, Any]) -> str:
    return (
        f"{summary['episodes']} episodes: return {summary['mean']:.1f} ± {summary['std']:.1f}"
        f" (min {summary['min']:.0f}, max {summary['max']:.0f}) in {summary['duration_s']:.1f} s"
    )
