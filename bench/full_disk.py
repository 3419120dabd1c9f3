"""`python -m bench.full_disk`: how soon the truth is told on a disk on which nothing can be written (needs root).

A home on a tmpfs, the daemon's log on it as well. For a full disk, one without inodes and one that is read-only: the
worker of a run is killed with SIGKILL, another is cancelled, a third run, ended before, is deleted. Each number is the
time until a client sees it. Then room is made, and the time is taken until `run.json` tells the same.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.daemon import daemon, document, wait_for
from mosaic.rpc.client import Client
from mosaic.spec import run_record
from mosaic.spec.run_dir import Home

SIZE_MB = 400
FILES = 600
TARGET_S = 5.0
ENDLESS = 1_000_000_000


@contextlib.contextmanager
def small_disk() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="mosaic-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m,nr_inodes={FILES}", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        folder.rmdir()


@contextlib.contextmanager
def full(disk: Path) -> Iterator[None]:
    ballast = disk / "ballast"
    with ballast.open("ab", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))
    yield
    ballast.unlink()


@contextlib.contextmanager
def without_inodes(disk: Path) -> Iterator[None]:
    ballast = disk / "files"
    ballast.mkdir()
    with contextlib.suppress(OSError):
        for number in range(FILES):
            (ballast / str(number)).touch()
    yield
    shutil.rmtree(ballast)


@contextlib.contextmanager
def read_only(disk: Path) -> Iterator[None]:
    """What is opened by its path; the index, which is open already, is kept from growing by a full disk."""
    with full(disk):
        subprocess.run(["mount", "--bind", disk, disk], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", disk], check=True)
        yield
        subprocess.run(["umount", "-l", disk], check=True)


def timed(look: Callable[[], Any]) -> float:
    began = time.monotonic()
    wait_for(look)
    return time.monotonic() - began


def is_in(client: Client, run_id: str, state: str) -> Callable[[], bool]:
    return lambda: client.get(run_id).state == state


def measure(name: str, disk: Path, home: Home, client: Client, refuse: Callable[[Path], Any]) -> None:
    runs = [client.submit(document(ENDLESS, seed))[0].run_id for seed in (1, 2, 3)]
    for run_id in runs:
        wait_for(is_in(client, run_id, "running"))
    killed, cancelled, deleted = runs
    client.cancel(deleted)
    wait_for(is_in(client, deleted, "cancelled"))
    pids = {run_id: client.get(run_id).pid for run_id in (killed, cancelled)}
    # Stopped, so that the disk does not end them before we do.
    for pid in pids.values():
        os.kill(pid, signal.SIGSTOP)
    with refuse(disk):
        os.kill(pids[killed], signal.SIGKILL)
        shown_s = timed(is_in(client, killed, "failed"))
        client.cancel(cancelled)
        os.kill(pids[cancelled], signal.SIGCONT)
        cancelled_s = timed(is_in(client, cancelled, "cancelled"))
        if refuse is read_only:
            deleted_s = "refused"
        else:
            client.delete(deleted)
            deleted_s = f"{timed(lambda: not home.run(deleted).root.exists()):.2f} s"
    written_s = timed(lambda: run_record.read(home.run(killed)).state == "failed")
    reason = client.get(killed).reason
    print(
        f"{name:16} {shown_s:8.2f} s {cancelled_s:8.2f} s {deleted_s:>10} {written_s:8.2f} s   {reason[:60]}",
        flush=True,
    )
    for run_id in client.list():
        client.delete(run_id.run_id)


def main() -> int:
    print(f"{'disk':16} {'failed':>10} {'cancelled':>10} {'deleted':>10} {'written':>10}   target {TARGET_S:g} s")
    for name, refuse in (("full", full), ("no inodes", without_inodes), ("read-only", read_only)):
        with small_disk() as disk:
            home = Home(disk / "home")
            with daemon(home, "--cpus", "4", "--no-warm") as (client, _):
                measure(name, disk, home, client, refuse)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
