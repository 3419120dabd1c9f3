"""Uploading an offline export, with W&B's own `wandb sync` in a process of its own."""

import os
import re
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

from mosaic.errors import MissingExtra, MosaicError, UnsafePath
from mosaic.log import get_logger
from mosaic.spec.processes.python_child import PythonChild
from mosaic.spec.run_dir import RunDir
from mosaic.track import export_state, export_to_wandb, follow_events, wandb_exporter, wandb_network
from mosaic.track.export_state import Export
from mosaic.track.run_description import about
from mosaic.track.start_exporter import exporter
from mosaic.track.wandb_network import Network

UPLOAD_S = 1800.0
"""How long one upload may take; W&B itself would try for days."""
_RUN_PAGE = re.compile(r"https?://\S+/runs/[^\s)\]]+")

log = get_logger()


class SyncFailed(MosaicError):
    """An export was not uploaded; it is still whole."""


def sync(run_dir: RunDir) -> Export:
    """Upload a run's export; one that is missing, cut off or behind is made anew first."""
    if not export_to_wandb.is_complete(run_dir):
        _export_first(run_dir)
    done = export_state.read(run_dir)
    if done is None or done.state == "failed":
        raise SyncFailed(f"run {run_dir.run_id} could not be exported: {done.why if done else 'see logs/wandb.log'}")
    if done.state == "synced":
        return done
    way = wandb_network.network_of(about(run_dir).options)
    _check(way)
    with export_state.exporting_alone(run_dir):
        export_state.write(run_dir, replace(done, state="syncing", why="", server=way.server, proxy=way.shown_proxy))
        after = replace(done, state="offline", why="the upload was interrupted; sync it again", server=way.server)
        try:
            after = _upload(run_dir, after, way)
        finally:
            after = export_state.write(run_dir, after)
    if after.state != "synced":
        raise SyncFailed(f"run {run_dir.run_id} was not uploaded: {after.why}")
    return after


def _export_first(run_dir: RunDir) -> None:
    if follow_events.is_alive(run_dir):
        raise SyncFailed(f"run {run_dir.run_id} still trains and its exporter follows it; sync it after its end")
    if export_state.is_busy(run_dir):
        raise SyncFailed(f"run {run_dir.run_id} is being exported right now; sync it in a moment")
    run_dir.logs.mkdir(mode=0o700, exist_ok=True)
    with run_dir.open(run_dir.wandb_log, append=True) as out:
        done = exporter(str(run_dir.root)).run(stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    if done.returncode == MissingExtra.exit_code:
        raise MissingExtra("the export to Weights & Biases", "wandb")


def _check(way: Network) -> None:
    if not way.problem and not wandb_network.has_key(way.server):
        raise SyncFailed(f"no API key for {way.server}: set WANDB_API_KEY, or 'wandb login'")
    answer = wandb_network.probe(way)
    if not answer.reachable:
        raise SyncFailed(f"the server is not reachable: {answer.text}; the offline export is kept")


def _check_links(run_dir: RunDir, folder: Path) -> None:
    """W&B uploads what a link in its folder leads to: nothing outside of the run may leave the machine this way."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            try:
                run_dir.inside(path)
            except UnsafePath:
                name = path.relative_to(run_dir.root.resolve())
                raise SyncFailed(f"{name} is a link that leads out of run {run_dir.run_id}; remove it first") from None


def _upload(run_dir: RunDir, before: Export, way: Network) -> Export:
    folder = run_dir.inside(before.folder)
    _check_links(run_dir, folder)
    for marker in folder.glob("*.wandb.sync*"):
        # Left by an upload of another server or one that was cut off: this one uploads everything.
        marker.unlink()
    variables = {**os.environ, **way.environment, **wandb_exporter.environment(run_dir), "WANDB_BASE_URL": way.server}
    variables.pop("WANDB_MODE", None)
    variables.pop("WANDB_SILENT", None)
    words = ("sync", "--include-online", str(folder))
    code, said = _run(PythonChild(module="wandb", words=words, keys=(export_state.WANDB,), base=variables, cwd=None))
    with run_dir.open(run_dir.wandb_log, append=True) as out:
        out.write(said.encode())
    # It exits with 0 whatever happens; the marker is what an upload leaves behind that worked.
    if list(folder.glob("*.wandb.synced")):
        page = _RUN_PAGE.search(said)
        return replace(before, state="synced", why="", url=page[0] if page else before.url)
    if "No module named wandb" in said:
        raise MissingExtra("the upload to Weights & Biases", "wandb")
    return replace(before, why=_reason(said) or f"wandb sync ended with exit code {code}; see logs/wandb.log")


def _run(child: PythonChild) -> tuple[int, str]:
    process = child.popen(
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=UPLOAD_S)
    except subprocess.TimeoutExpired:
        said = f"wandb: ERROR no end within {UPLOAD_S:.0f} s\n"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return process.returncode, said


def _reason(said: str) -> str:
    """The last complaint of `wandb sync`."""
    complaints = [line.partition("ERROR")[2].strip() for line in said.splitlines() if "ERROR" in line]
    return next((text for text in reversed(complaints) if text), "")
