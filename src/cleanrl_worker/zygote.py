"""The warm worker: a process that has imported everything and forks a worker for each request.

Started by the daemon's local engine with one end of a socket pair (SOCK_SEQPACKET). It says `ready`; then each request
is a JSON object {module, argv, environment, cwd} with three open files (stdout, stderr, life lock), answered by
{"pid": n}. When the daemon's end closes, the zygote ends, also while it is still importing; its workers go on.

A worker is forked twice over, so that its parent is the daemon (a child subreaper) and not the zygote.
"""

import contextlib
import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

from mosaic import config
from mosaic.spec.manifest import Manifest
from mosaic.spec.processes.process_identity import ProcessIdentity
from mosaic.spec.run_dir import RunDir, new_run_id

STDOUT, STDERR = 1, 2
MODULES = (
    "cleanrl_worker.cli",
    "cleanrl_worker.evaluate",
    "cleanrl_worker.describe",
    "mosaic.play.worker",
    "mosaic.play.describe_actors",
)
"""Programs that may be run here."""
COMPILER = "torch._dynamo"
"""torch's own optimisers import it, which takes 1.5 s; our algorithms have no need of it, scripts mostly do."""


def main() -> int:
    connection = socket.socket(fileno=int(sys.argv[1]))
    with _ending_with(connection):
        _import_everything()
    connection.send(b"ready")
    while True:
        request, files, _, _ = socket.recv_fds(connection, 1 << 20, 3)
        if not request:
            return 0
        wanted = json.loads(request)
        pid = _fork_worker(wanted, files, connection)
        for descriptor in files:
            os.close(descriptor)
        connection.send(json.dumps({"pid": pid}).encode())
        if COMPILER not in sys.modules and _is_script(wanted["argv"]):
            importlib.import_module(COMPILER)
            gc.collect()
            gc.freeze()


def _is_script(argv: list[str]) -> bool:
    """Whether a worker runs a user's script: more of them may follow."""
    from cleanrl_worker.sdk.command import worker_flags
    from mosaic.scripts.script import is_script

    # A border: whatever is wrong with the words or the file, the worker says so. Nothing else of the file is looked at:
    # a key in it is that worker's alone.
    with contextlib.suppress(Exception):
        path = worker_flags.scan(argv).config
        document = None if path is None else config.any_json(path.read_bytes())
        return document is not None and is_script(document["metadata"]["worker"]["config"]["algo"])
    return False


@contextlib.contextmanager
def _ending_with(connection: socket.socket) -> Generator[None]:
    """End this process as soon as the daemon's end is closed, although nothing is read from it yet.

    The kernel sends SIGIO, which ends a process, at any event of the socket (fcntl(2), O_ASYNC), and before
    `ready` the daemon says nothing. Not the signal of a parent's death (prctl(2)): that is sent when the thread ends
    that started this process.
    """
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(connection, fcntl.F_GETFL)
    fcntl.fcntl(connection, fcntl.F_SETFL, flags | os.O_ASYNC)
    try:
        # The daemon may have ended before that was asked for.
        poll = select.poll()
        poll.register(connection, select.POLLHUP)
        if poll.poll(0):
            raise SystemExit(0)
        yield
    finally:
        fcntl.fcntl(connection, fcntl.F_SETFL, flags)


@contextlib.contextmanager
def _tidying() -> Generator[None]:
    """SIGIO ends this process by an exception, so that what it has made is removed."""

    def end(number: int, frame: FrameType | None) -> None:
        del number, frame
        sys.exit(0)

    signal.signal(signal.SIGIO, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGIO, signal.SIG_DFL)


def _import_everything() -> None:
    # Modules stay: looking for garbage among them, as they are made, takes a tenth of the time.
    gc.disable()
    for module in MODULES:
        importlib.import_module(module)
    # Imported by a run only where it has a daemon to publish to, or is a script's.
    for module in (
        "cleanrl_worker.sdk.record.event_publisher",
        "cleanrl_worker.foreign.run_script",
        "torch.utils.tensorboard",
    ):
        importlib.import_module(module)
    from cleanrl_worker.sdk.command import algorithm_catalogue

    tried: set[tuple[str, str]] = set()
    for name in algorithm_catalogue.names():
        _rehearse(name, tried)
    for kind in (ProcessIdentity, Manifest):
        config.prepare(kind)
    # What is imported now stays shared with the workers: their collections do not touch, and so copy, these pages.
    gc.collect()
    gc.freeze()
    gc.enable()


def _rehearse(algo: str, tried: set[tuple[str, str]]) -> None:
    """All that a run does before its first step, so that what is made at the first use is made here.

    An environment is made once for each family and kind of observation: of the next ones nothing is left to be loaded.
    """
    from cleanrl_worker.sdk.command import algorithm_catalogue, carry_out, config_file, worker_flags
    from mosaic.envs.families import family_of

    # A border: an algorithm whose environment is not installed is still warm enough.
    # In the temporary folder: MuJoCo writes its warnings into the current one.
    with contextlib.suppress(Exception), _in_temporary_folder() as folder, _silence():
        run_dir = RunDir(folder / new_run_id())
        # Without CUDA: one question to it here, and no worker forked from here could use it.
        plan = worker_flags.resolve(worker_flags.scan(["--algo", algo, "--no-cuda", "--run-dir", str(run_dir.root)]))
        kind = family_of(plan.args.env_id).name, algorithm_catalogue.observations(algo)
        if kind not in tried:
            tried.add(kind)
            carry_out.rehearse(plan, render=False)
        file = folder / "config.json"
        file.write_text(json.dumps(config.to_json(plan.run_config)))
        config_file.read_document(file)


@contextlib.contextmanager
def _in_temporary_folder() -> Generator[Path]:
    with _tidying(), tempfile.TemporaryDirectory(prefix="mosaic-warm-") as folder, contextlib.chdir(folder):
        yield Path(folder)


@contextlib.contextmanager
def _silence() -> Generator[None]:
    """What libraries in C print of a model that was not asked for would go to the daemon's log."""
    with Path(os.devnull).open("wb") as nowhere:
        kept = [os.dup(stream) for stream in (STDOUT, STDERR)]
        try:
            for stream in (STDOUT, STDERR):
                os.dup2(nowhere.fileno(), stream)
            yield
        finally:
            for stream, before in zip((STDOUT, STDERR), kept, strict=True):
                os.dup2(before, stream)
                os.close(before)


def _fork_worker(request: dict[str, Any], files: list[int], connection: socket.socket) -> int:
    reader, writer = os.pipe()
    between = os.fork()
    if between == 0:
        worker = os.fork()
        if worker == 0:
            os.close(reader)
            os.close(writer)
            _become_worker(request, files, connection)
        os.write(writer, str(worker).encode())
        os._exit(0)
    os.close(writer)
    pid = int(os.read(reader, 32))
    os.close(reader)
    os.waitpid(between, 0)
    return pid


def _become_worker(request: dict[str, Any], files: list[int], connection: socket.socket) -> None:
    """In the child: never returns."""
    code = 1
    try:
        os.setsid()
        connection.close()
        os.dup2(files[0], STDOUT)
        os.dup2(files[1], STDERR)
        # The third file, the life lock, stays open as long as this process lives.
        os.close(files[0])
        os.close(files[1])
        os.chdir(request["cwd"])
        os.environ.update(request["environment"])
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        sys.argv = [request["module"], *request["argv"]]
        if request["module"] not in MODULES:
            raise SystemExit(f"{request['module']} is not a worker")
        code = importlib.import_module(request["module"]).main(request["argv"])
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # The border of the forked process, as the interpreter's own would be.
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    raise SystemExit(main())
