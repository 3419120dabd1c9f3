"""`mosaic tensorboard [RUN…]`: TensorBoard on any selection of runs, on a port of this machine, until Ctrl-C."""

import argparse
import importlib.util
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from mosaic.cli.daemon.connection import BadArguments, connect, parser, refuse_remote
from mosaic.cli.runs.run_filters import add_filters, named_or_listed
from mosaic.cli.terminal.printing import note, print_json, say, waiting
from mosaic.cli.terminal.readable import plural
from mosaic.errors import MissingPackage, MosaicError
from mosaic.rpc.client import Client
from mosaic.rpc.locate import DaemonUnavailable
from mosaic.spec.run_record import RunRecord
from mosaic.track import tensorboard_child
from mosaic.track.tensorboard_links import BoardRun, count_written, lay, links_of, make_folder

LIMIT = 30
START_S = 120.0
END_S = 3.0
TAIL_LINES = 8


class BoardFailed(MosaicError):
    """TensorBoard did not start, or ended by itself."""


def main(argv: Sequence[str]) -> int:
    flags = _flags(argv)
    refuse_remote("tensorboard")
    if importlib.util.find_spec(tensorboard_child.PACKAGE) is None:
        raise MissingPackage("this command", tensorboard_child.PACKAGE)
    with connect() as client:
        runs = named_or_listed(client, flags)
        if not runs:
            raise BadArguments("no run matches; 'mosaic runs' lists what there is")
        folder = make_folder()
        try:
            return _serve(client, flags, runs, folder)
        except KeyboardInterrupt:
            # The way in which this verb is meant to end.
            note("")
            return 0
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _flags(argv: Sequence[str]) -> argparse.Namespace:
    about = "Serve TensorBoard on this machine until Ctrl-C. Without RUN: the newest runs, and new ones as they come."
    words = parser("tensorboard", about, json=True)
    words.add_argument("runs", metavar="RUN", nargs="*", help="id, its beginning or end, a label, @last or @last-1")
    add_filters(words, limit=LIMIT)
    words.number("--port", low=0, high=65535, default=0, metavar="N", help="this port; 0 is any that is free (default)")
    flags = words.parse_args(argv)
    if flags.runs and (flags.state or flags.text or flags.kind):
        words.error("name runs, or choose them by --state, --kind and --text, not both")
    return flags


def _serve(client: Client, flags: argparse.Namespace, runs: Sequence[RunRecord], folder: Path) -> int:
    links, output = folder / "runs", folder / "output"
    links.mkdir()
    shown = _lay(links, runs)
    with output.open("wb") as out:
        # A session of its own: Ctrl-C is ours to handle. If this process is killed, the kernel ends that one.
        process = tensorboard_child.child(*tensorboard_child.options(links, flags.port)).popen(
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        with waiting("starting TensorBoard …"):
            url = _address(process, output)
        _tell(flags, url, runs, shown)
        while process.poll() is None:
            time.sleep(tensorboard_child.RELOAD_S)
            _lay(links, _chosen_now(client, flags, runs))
        raise BoardFailed(_ended(process, output))
    finally:
        _end(process)


def _address(process: "subprocess.Popen[bytes]", output: Path) -> str:
    deadline = time.monotonic() + START_S
    while not (found := tensorboard_child.ADDRESS.search(output.read_text(errors="replace"))):
        if process.poll() is not None:
            raise BoardFailed(_ended(process, output))
        if time.monotonic() > deadline:
            raise BoardFailed(f"TensorBoard was not ready within {START_S:.0f} s:\n{_tail(output)}")
        time.sleep(0.05)
    return found[1]


def _tell(flags: argparse.Namespace, url: str, runs: Sequence[RunRecord], written: int) -> None:
    if flags.json:
        print_json({"url": url, "runs": [run.run_id for run in runs]})
        return
    say(url)
    rest = "" if written else "; none of them has written TensorBoard files yet"
    note(f"{plural(len(runs), 'run')}{rest}; Ctrl-C ends it")


def _chosen_now(client: Client, flags: argparse.Namespace, before: Sequence[RunRecord]) -> Sequence[RunRecord]:
    """Runs that began meanwhile appear; while no daemon answers, what is there stays."""
    if flags.runs:
        return before
    try:
        return named_or_listed(client, flags) or before
    except DaemonUnavailable:
        return before


def _lay(links: Path, runs: Sequence[RunRecord]) -> int:
    """How many of these have files to show."""
    wanted = links_of([BoardRun(run.label or run.run_id, run.run_dir) for run in runs])
    lay(links, wanted)
    return count_written(wanted)


def _ended(process: "subprocess.Popen[bytes]", output: Path) -> str:
    code = process.returncode
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    return f"TensorBoard {how}:\n{_tail(output)}"


def _tail(output: Path) -> str:
    lines = [line for line in output.read_text(errors="replace").splitlines() if line.strip()]
    return "\n".join(f"  {line}" for line in lines[-TAIL_LINES:])


def _end(process: "subprocess.Popen[bytes]") -> None:
    """With the processes that it started; it has nothing to lose."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
