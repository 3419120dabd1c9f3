"""A warm worker ends with its daemon, whatever it is doing; workers that were forked from it go on."""

import contextlib
import json
import subprocess
import sys

import psutil
import pytest

DAEMON = """
import sys, time
from mosaic.spec.processes import python_child
from mosaic.trainer.engines import warm_worker
warm_worker.MODULE = sys.argv[1]
made = warm_worker.WarmWorker()
print(made._process.pid, flush=True)
if sys.argv[2] == "ready":
    assert made.wait_until_ready(60)
    from pathlib import Path
    null = open("/dev/null", "ab")
    print(made.fork("sleeper", (), {}, Path("/"), [null.fileno()] * 3), flush=True)
time.sleep(600)
"""
ZYGOTE = """
import sys, time, types
from cleanrl_worker import zygote
sleeper = types.ModuleType("sleeper")
def main(argv):
    import time
    time.sleep(600)
sleeper.main = main
sys.modules["sleeper"] = sleeper
zygote.MODULES = ("sleeper",)
zygote._import_everything = lambda: print(flush=True, file=sys.stderr) or time.sleep({importing_s})
raise SystemExit(zygote.main())
"""


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture
def daemon(tmp_path, monkeypatch):
    """Something that has a warm worker, as a daemon has."""
    for name, importing_s in (("quick", 0), ("long", 600)):
        (tmp_path / f"{name}_zygote.py").write_text(ZYGOTE.format(importing_s=importing_s))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    started: list[psutil.Process] = []

    def start(module: str, when: str) -> "tuple[subprocess.Popen[bytes], int]":
        command = [sys.executable, "-c", DAEMON, module, when]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        zygote = json.loads(process.stdout.readline())
        started.extend((psutil.Process(process.pid), psutil.Process(zygote)))
        stack.enter_context(process)
        return process, zygote

    with contextlib.ExitStack() as stack:
        yield start
        for process in started:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()


def test_a_zygote_that_still_imports_ends_with_its_daemon(daemon, kit):
    process, zygote = daemon("long_zygote", "at once")
    # It says so when it begins to import what is slow to import.
    assert process.stderr.readline() == b"\n"
    process.kill()
    process.wait()
    kit.eventually(lambda: is_gone(zygote), what="the end of the zygote")


def test_a_ready_zygote_ends_with_its_daemon_and_its_workers_go_on(daemon, kit):
    process, zygote = daemon("quick_zygote", "ready")
    worker = json.loads(process.stdout.readline())
    process.kill()
    process.wait()
    kit.eventually(lambda: is_gone(zygote), what="the end of the zygote")
    assert not is_gone(worker)
    psutil.Process(worker).kill()
