"""`mosaic export-policy RUN FILE.onnx|FILE.py`: a policy as a file that needs no MOSAIC, on this machine."""

import contextlib
import tempfile
from collections.abc import Generator, Sequence
from pathlib import Path

from mosaic.cli.daemon.connection import connect, parser
from mosaic.cli.evaluation.evaluate import find_policy
from mosaic.cli.play.episode_by_name import run_program
from mosaic.cli.terminal.printing import print_json
from mosaic.errors import PolicyError
from mosaic.rpc.client import Client
from mosaic.rpc.policy_info import PolicyInfo
from mosaic.spec.catalogue.extras import ONNX

PROGRAM = "cleanrl_worker.policy_export"
SUFFIXES = (".onnx", ".py")


def main(argv: Sequence[str]) -> int:
    words = parser(
        "export-policy",
        "Write a policy as ONNX, or as plain torch (a Python file and its weights), for use without MOSAIC."
        " Normalisers, bounds and the choice of the likeliest action are in it. The export is played in the"
        " environment and kept only if it takes the actions of the policy.",
        json=True,
    )
    words.add_argument("what", metavar="RUN|FILE", help="a run that saved a policy, or a policy file")
    words.add_argument("file", type=Path, metavar="OUT", help="FILE.onnx, or FILE.py with FILE.safetensors beside it")
    words.add_argument("--env-id", default="", metavar="ID", help="of a file of CleanRL's that does not say it")
    words.add_argument("--algo", default="", metavar="NAME", help="likewise")
    words.add_argument("--force", action="store_true", help="replace files that are there already")
    flags = words.parse_args(argv)
    out = Path(flags.file).expanduser().absolute()
    if out.suffix not in SUFFIXES:
        words.error(f"OUT: '{out.name}' must end in .onnx, or in .py for plain torch")
    files = [out] if out.suffix == ".onnx" else [out, out.with_suffix(".safetensors")]
    there = [path for path in files if path.exists()]
    if there and not flags.force:
        words.error(f"OUT: {there[0]} is there already; --force replaces it")
    if out.suffix == ".onnx":
        ONNX.require("an export to ONNX")
    with connect() as client:
        policy = find_policy(client, flags.what)
        if policy.kind == "sb3":
            raise PolicyError(
                f"{policy.path} is a policy of Stable-Baselines3, whose own documentation says how to export it;"
                " here those of MOSAIC and of CleanRL are exported"
            )
        with _on_this_machine(client, policy) as path:
            request = {"policy": str(path), "file": str(out), "algo": flags.algo, "env_id": flags.env_id}
            made = run_program(PROGRAM, request)
    if flags.json:
        print_json(made)
        return 0
    for file in made["files"]:
        print(f"{file} ({Path(file).stat().st_size / 1000:,.0f} kB)")
    same = made["observations"] - made["different"]
    close = f"; the largest difference of a number is {made['largest']:.0e}" if made["largest"] else ""
    print(f"checked: {same:,} of {made['observations']:,} actions are those of the policy ({made['where']}{close})")
    return 0


@contextlib.contextmanager
def _on_this_machine(client: Client, policy: PolicyInfo) -> Generator[Path]:
    """The policy's file, fetched where the daemon is on another one."""
    path = Path(policy.path)
    if path.is_file() or not policy.run_id:
        yield path
        return
    run = client.get(policy.run_id)
    with tempfile.TemporaryDirectory(prefix="mosaic-policy-") as folder:
        copy = Path(folder) / path.name
        inside = path.relative_to(run.run_dir).as_posix()
        copy.write_bytes(b"".join(client.read_artifact(policy.run_id, inside)))
        yield copy
