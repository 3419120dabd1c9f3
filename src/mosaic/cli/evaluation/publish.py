"""`mosaic publish RUN --repo NAME`: a run's policy, evaluated and filmed, to the Hugging Face Hub or into a folder."""

import argparse
import importlib.util
import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mosaic import __version__
from mosaic.cli import INTERRUPTED
from mosaic.cli.daemon.connection import connect, parser
from mosaic.cli.evaluation.evaluate import find_policy, line_of, results_of
from mosaic.cli.runs.follow_to_end import detached
from mosaic.cli.terminal.printing import note, print_json
from mosaic.errors import PolicyError
from mosaic.rpc.client import Client
from mosaic.rpc.policy_info import PolicyInfo
from mosaic.spec.catalogue.extras import HUB
from mosaic.spec.evaluation_config import Subject, document_of
from mosaic.spec.files import policy_digest, source_copy
from mosaic.spec.run_config import PolicyEvalExtras
from mosaic.spec.run_record import RunRecord
from mosaic.track import hub_folder, hub_upload
from mosaic.track.hub_folder import Publication


def main(argv: Sequence[str]) -> int:
    flags = _flags(argv)
    if flags.dry_run is None:
        HUB.require("publishing to the Hugging Face Hub")
    with connect() as client:
        policy = find_policy(client, flags.what)
        if not policy.run_id or policy.kind != "mosaic":
            raise PolicyError(f"{policy.path} is not the policy of a run here; publish takes a run ('mosaic policies')")
        name = hub_folder.default_name(policy.algo, policy.env_id, policy.seed or 0)
        repo = hub_folder.repo_id(flags.repo, name)
        if flags.dry_run is None:
            hub_upload.check_ready()
        try:
            run, summary = _evaluated(client, policy, flags)
        except KeyboardInterrupt:
            return INTERRUPTED
        note(line_of(summary))
        folder = flags.dry_run or Path(tempfile.mkdtemp(prefix="mosaic-hub-"))
        files = hub_folder.write(folder, _publication(client, policy, run, summary))
        if hub_folder.REPLAY not in files:
            note(f"no video: run {run.run_id} could not film its environment")
        address = str(folder.absolute())
        if flags.dry_run is None:
            message = f"{policy.algo} on {policy.env_id}, seed {policy.seed}"
            # Left where it is if this fails: the error names it.
            address = hub_upload.upload(folder, repo, private=flags.private, message=message)
            shutil.rmtree(folder)
    if flags.json:
        print_json({"repo": repo, "address": address, "files": files, "evaluation": run.run_id, **summary})
    else:
        print(f"{'would be' if flags.dry_run else 'published as'} {repo}: {address}")
        for file in files:
            print(f"  {file}")
    return 0


def _flags(argv: Sequence[str]) -> argparse.Namespace:
    words = parser("publish", "Evaluate a run's policy and publish it on the Hugging Face Hub.", json=True)
    words.add_argument("what", metavar="RUN", help="a run that saved a policy")
    words.add_argument(
        "--repo",
        default="",
        metavar="USER/NAME",
        help="repository; 'USER/' uses the default name, ENV-ALGO-seedN; without --repo: that name under your own user",
    )
    words.add_argument("--dry-run", type=Path, metavar="DIR", help="write the folder there and upload nothing")
    words.number("--episodes", low=1, default=50, metavar="N", help="episodes of the evaluation (default 50)")
    words.seed("its first episode")
    words.add_argument("--deterministic", action="store_true", help="take the likeliest action instead of sampling")
    words.add_argument("--private", action="store_true", help="make a repository that only you can see")
    flags = words.parse_args(argv)
    if (
        flags.dry_run is not None
        and flags.dry_run.exists()
        and (not flags.dry_run.is_dir() or any(flags.dry_run.iterdir()))
    ):
        words.error(f"--dry-run: {flags.dry_run} is there already; name a new folder")
    return flags


def _evaluated(client: Client, policy: PolicyInfo, flags: argparse.Namespace) -> tuple[RunRecord, dict[str, Any]]:
    """A run of its own, with videos: what is on the card can be looked at afterwards."""
    extras = PolicyEvalExtras(
        mode="policy_eval",
        policy_path=policy.path,
        eval_episodes=flags.episodes,
        eval_batch_size=flags.episodes,
        eval_deterministic=flags.deterministic,
        eval_capture_video=True,
    )
    subject = Subject(policy=policy.path, env_id=policy.env_id, algo=policy.algo)
    label = f"{policy.label}, for its card"
    [run] = client.submit(document_of(subject, extras, seed=flags.seed, label=label))
    try:
        [summary] = results_of(client, [run])
    except KeyboardInterrupt:
        detached([run])
        raise
    return run, summary


def _publication(client: Client, policy: PolicyInfo, run: RunRecord, summary: dict[str, Any]) -> Publication:
    trained = client.get(policy.run_id)
    path = Path(policy.path).relative_to(trained.run_dir).as_posix()
    videos = [one.path for one in client.artifacts(run.run_id) if one.kind == "video"]
    model = _bytes(client, policy.run_id, path)
    policy_digest.check(model, what=policy.path)
    return Publication(
        algo=policy.algo,
        env_id=policy.env_id,
        seed=policy.seed or 0,
        global_step=policy.global_step or 0,
        args=json.loads(policy_digest.metadata(model)["args"]),
        model=model,
        script=_own_script(model) or _script_of(policy.algo),
        is_own=bool(_own_script(model)),
        replay=_bytes(client, run.run_id, videos[0]) if videos else b"",
        summary=summary,
        version=__version__,
    )


def _bytes(client: Client, run_id: str, path: str) -> bytes:
    return b"".join(client.read_artifact(run_id, path))


def _own_script(model: bytes) -> str:
    """The file of a user's algorithm, which its policy carries; empty for one of ours."""
    text = policy_digest.metadata(model).get("source")
    copy = None if text is None else source_copy.from_json(json.loads(text))
    is_code = copy is not None and copy.file.endswith(".py")
    return copy.texts[copy.file] if copy is not None and is_code else ""


def _script_of(algo: str) -> str:
    """The algorithm's one file, found without importing it."""
    # The name comes out of a policy file: as a path it would publish another file.
    found = importlib.util.find_spec("cleanrl_worker") if algo.isidentifier() else None
    for place in (found.submodule_search_locations or []) if found else []:
        path = Path(place) / "algorithms" / f"{algo}.py"
        if path.exists():
            return path.read_text()
    return ""
