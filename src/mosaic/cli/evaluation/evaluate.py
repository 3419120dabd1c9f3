"""`mosaic evaluate POLICY|RUN… [flags]`: play episodes with trained policies, as runs of the daemon."""

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic.cli import INTERRUPTED
from mosaic.cli.daemon.connection import connect, parser
from mosaic.cli.runs.follow_to_end import RunFailed, detached, follow
from mosaic.cli.runs.run_by_name import pick
from mosaic.cli.terminal.printing import note, print_json
from mosaic.cli.terminal.readable import plural
from mosaic.cli.train import own_environment
from mosaic.cli.train.environment_arguments import SETTINGS_HELP, environment_settings_of
from mosaic.errors import PolicyError, RunNotFound
from mosaic.rpc.client import Client
from mosaic.rpc.evaluation_summary import summary_of
from mosaic.rpc.find_run import counted_back
from mosaic.rpc.policy_info import PolicyInfo
from mosaic.spec import environment_flags
from mosaic.spec.environment_flags import EnvironmentFlags
from mosaic.spec.environment_settings import spoken
from mosaic.spec.evaluation_config import Subject, document_of
from mosaic.spec.policy_facts import SUFFIX
from mosaic.spec.return_statistics import Interval
from mosaic.spec.run_config import MAX_GRID, PolicyEvalExtras, TrainRunConfig
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState


def main(argv: Sequence[str]) -> int:
    argv = environment_flags.with_reference(argv, own_environment.reference_of)
    argv, environment = environment_flags.take(argv, what="mosaic evaluate")
    flags = _flags(argv)
    with connect() as client:
        policies = [find_policy(client, word) for word in flags.what]
        documents = [_document(policy, flags, _settings(client, environment, policy, flags)) for policy in policies]
        runs = [client.submit(document)[0] for document in documents]
        if flags.detach:
            print("\n".join(run.run_id for run in runs))
            return 0
        try:
            summaries = results_of(client, runs)
        except KeyboardInterrupt:
            detached(runs)
            return INTERRUPTED
        if len(runs) == 1:
            _show(runs[0], summaries[0], json=flags.json)
        else:
            from mosaic.cli.evaluation import policy_comparison

            policy_comparison.show(client, policies, runs, summaries, json=flags.json)
    return 0


def _flags(argv: Sequence[str]) -> argparse.Namespace:
    words = parser(
        "evaluate",
        "Play episodes with trained policies and print what they score. The environment has the settings of the"
        f" training. {SETTINGS_HELP}",
        json=True,
    )
    words.add_argument(
        "what",
        nargs="+",
        metavar="RUN|POLICY",
        help="a run that saved a policy, a *.cleanrl_model file, or a folder with one; several are compared, each"
        " on the same episodes",
    )
    words.number("--episodes", low=1, default=50, metavar="N", help="episodes a batch (default 50)")
    words.seed("the first episode")
    words.add_argument("--repeat", action="store_true", help="play further batches until the run is cancelled")
    how = words.add_mutually_exclusive_group()
    how.add_argument("--deterministic", action="store_true", help="take the likeliest action instead of sampling")
    how.add_argument(
        "--stochastic", action="store_false", dest="deterministic", help="sample as in training (the default)"
    )
    words.add_argument("--video", action="store_true", help="record videos, into videos/RUN-eval of the run")
    words.add_argument("--env-id", metavar="ID", help="evaluate in another environment than that of the training")
    words.add_argument("--algo", default="", metavar="NAME", help="algorithm, where the file does not say it")
    words.add_argument(
        "--normaliser",
        choices=("saved", "running"),
        default="saved",
        help="moments of the observations: as saved with the policy, or learnt again while it plays",
    )
    words.add_argument("--trust", action="store_true", help="open a Stable-Baselines3 zip, which runs code in it")
    words.add_argument(
        "--video-mode", choices=("single", "grid", "off"), default="grid", help="what the live view shows"
    )
    words.number("--grid-limit", low=1, high=MAX_GRID, default=8, metavar="N", help="tiles of its grid (default 8)")
    words.add_argument("--label", default="", help="label of the run (optional)")
    words.add_argument("--no-tensorboard", action="store_true", help="write no TensorBoard files")
    words.add_argument("--detach", action="store_true", help="print the id of the run and return")
    flags = words.parse_args(argv)
    if flags.repeat and len(flags.what) > 1 and not flags.detach:
        words.error("--repeat never ends, so several policies cannot be compared; add --detach")
    return flags


def _settings(client: Client, given: EnvironmentFlags, policy: PolicyInfo, flags: argparse.Namespace) -> dict[str, Any]:
    """Settings of the environment: as the policy was trained, if it was there, and what was typed on top of them."""
    env_id = flags.env_id or policy.env_id
    asked = environment_settings_of(client, given, env_id, what="mosaic evaluate")
    trained = dict(policy.env_settings) if env_id == policy.env_id else {}
    if trained:
        changed = {name: trained[name] for name in asked if name in trained and trained[name] != asked[name]}
        but = f", but for {spoken({name: asked[name] for name in changed})}" if changed else ""
        note(f"{env_id} with {spoken(trained)}, as in its training{but}")
    # An empty list of wrappers stays: the worker would take those of the training else.
    return {**trained, **asked}


def _document(policy: PolicyInfo, flags: argparse.Namespace, settings: dict[str, Any]) -> TrainRunConfig:
    env_id = flags.env_id or policy.env_id
    if not env_id:
        raise PolicyError(f"no file beside {policy.path} names the environment it was trained in; give --env-id")
    extras = PolicyEvalExtras(
        mode="policy_eval",
        policy_path=policy.path,
        eval_episodes=flags.episodes,
        eval_batch_size=flags.episodes,
        eval_repeat=flags.repeat,
        eval_deterministic=flags.deterministic,
        eval_capture_video=flags.video,
        eval_normaliser=flags.normaliser,
        eval_trust=flags.trust,
        video_mode=flags.video_mode,
        grid_limit=flags.grid_limit,
    )
    subject = Subject(policy=policy.path, env_id=env_id, algo=flags.algo or own_algo(policy), settings=settings)
    return document_of(
        subject, extras, seed=flags.seed, tensorboard=not flags.no_tensorboard, label=flags.label or _label(policy)
    )


def own_algo(policy: PolicyInfo) -> str:
    """What our own files say, for lists to show; of others a name says little, and a worker looks at the weights."""
    return policy.algo if policy.kind == "mosaic" else ""


def _label(policy: PolicyInfo) -> str:
    return f"{policy.label}, evaluated" if policy.label else f"{Path(policy.path).name}, evaluated"


def find_policy(client: Client, word: str) -> PolicyInfo:
    """A file or folder on the daemon's machine, or the newest policy of a run."""
    path = Path(word).expanduser()
    if path.exists() or word.endswith((SUFFIX, ".zip")) or os.sep in word:
        return client.describe_policy(str(path.absolute()))
    # @last is here the last run that saved a policy: an evaluation is a run too, and saves none.
    saved = client.policies()
    if (before := counted_back(word)) is not None:
        newest_first = sorted({policy.run_id for policy in saved}, reverse=True)
        if len(newest_first) <= before:
            there = f"there are {len(newest_first)}" if saved else "there is none yet; 'mosaic train ppo' makes one"
            raise RunNotFound(word, hint=f"of the runs that saved a policy, {there}")
        return _checked(client, next(policy for policy in saved if policy.run_id == newest_first[before]))
    run = pick(client, word)
    for policy in saved:
        if policy.run_id == run.run_id:
            return _checked(client, policy)
    for artifact in client.artifacts(run.run_id):
        if artifact.kind == "policy":
            # It is not listed, so there is something wrong with it: the daemon says what.
            return client.describe_policy(str(Path(run.run_dir) / artifact.path))
    raise PolicyError(f"run {run.run_id} has saved no policy (yet); 'mosaic show {word}' shows how far it is")


def _checked(client: Client, policy: PolicyInfo) -> PolicyInfo:
    """The daemon compares it with its digest before a run is made for it."""
    return client.describe_policy(policy.path)


def results_of(client: Client, runs: Sequence[RunRecord]) -> list[dict[str, Any]]:
    """Follow evaluations to their end; the summary of the last batch of each."""
    # What is printed of them is the result alone.
    ended = follow(client, runs, tell=note)
    summaries: list[dict[str, Any]] = []
    for run in ended:
        if run.state is not RunState.FINISHED:
            raise RunFailed(run)
        summaries.append(summary_of(client, run.run_id))
    return summaries


def _show(run: RunRecord, summary: Mapping[str, Any], *, json: bool) -> None:
    if json:
        print_json({**summary, "run_id": run.run_id})
    else:
        print(line_of(summary))
        note(f"run directory: {run.run_dir}")


def line_of(summary: Mapping[str, Any]) -> str:
    mean, std, low, high = (float(summary[key]) for key in ("mean", "std", "min", "max"))
    return (
        f"{plural(summary['episodes'], 'episode')}: return {mean:.1f} ± {std:.1f} (min {low:.0f}, max {high:.0f}),"
        f" IQM {iqm_of(summary).text(summary['episodes'])}, in {summary['duration_s']:.1f} s"
    )


def iqm_of(summary: Mapping[str, Any]) -> Interval:
    return Interval(*(float(summary[key]) for key in ("iqm", "iqm_low", "iqm_high")))
