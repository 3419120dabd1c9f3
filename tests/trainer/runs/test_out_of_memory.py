"""A worker that runs out of memory says so, with numbers: an abort, a limit, the kernel's killer."""

import contextlib
import os
import resource
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState
from mosaic.trainer.engines.engine import Collected
from mosaic.trainer.index.ingest import Ending
from mosaic.trainer.runs import out_of_memory, verdicts
from mosaic.trainer.runs.out_of_memory import Usage

GIB = 2**30
# operator new(2**60) of C++, as a library under Python would call it.
BAD_ALLOC = "import ctypes; new = ctypes.CDLL('libstdc++.so.6')._Znwm; new(ctypes.c_size_t(1 << 60))"
GREEDY = "import sys; sys.stdin.readline(); kept = [bytearray(8 << 20) for _ in range(32)]"


def judged(record, ending, code, tail=(), *, usage=None, before=None):
    collected = Collected(exit_code=code, usage=usage or Usage())
    return verdicts.judge(record, ending, collected, tail, killed=False, kernel=before or out_of_memory.counts())


@pytest.fixture
def record(tmp_path):
    return RunRecord(run_id="R", run_dir=str(tmp_path), state=RunState.RUNNING)


def test_an_abort_of_cpp_for_memory_is_told_with_numbers(record, capfd):
    with contextlib.suppress(OSError):
        done = subprocess.run([sys.executable, "-c", BAD_ALLOC], capture_output=True, text=True)
    if "bad_alloc" not in done.stderr:
        pytest.skip(f"no C++ library here: {done.stderr[-200:]}")
    found = judged(record, None, done.returncode, tuple(done.stderr.splitlines()), usage=Usage(peak_bytes=3 * GIB))
    assert found.state is RunState.FAILED
    assert found.reason.startswith("out of memory: the worker had used 3.0 GiB at its peak; ")
    assert "are free on this machine" in found.reason
    assert "std::bad_alloc" in found.reason


def test_an_abort_for_another_reason_is_none_for_memory(record):
    done = subprocess.run([sys.executable, "-c", "import os; os.abort()"], capture_output=True, text=True)
    found = judged(record, None, done.returncode, tuple(done.stderr.splitlines()))
    assert found.reason == "the worker was killed by SIGABRT"


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ("MemoryError: ", ""),
        ("_ArrayMemoryError: Unable to allocate 29.8 GiB for an array with shape (1000000000, 4)", "29.8 GiB"),
        (
            "RuntimeError: [enforce fail at alloc_cpu.cpp:121] data. DefaultCPUAllocator: can't allocate memory: "
            "you tried to allocate 64424509440 bytes. Error code 12 (Cannot allocate memory)",
            "60.0 GiB",
        ),
    ],
)
def test_what_python_numpy_and_torch_say_is_told_with_what_was_asked_for(record, message, asked):
    usage = Usage(peak_bytes=GIB, address_limit_bytes=8 * GIB)
    reason = judged(record, Ending(completed=False, message=message), 1, usage=usage).reason
    assert reason.startswith(f"out of memory: {asked} more were asked for" if asked else "out of memory: the worker")
    assert "the worker had used 1.0 GiB at its peak" in reason
    assert "8.0 GiB of address space" in reason
    assert message.strip() in reason


def test_what_tells_of_something_else_stays_as_it_was(record):
    ending = Ending(completed=False, message="TrainingFailed: the loss is NaN")
    assert judged(record, ending, 5).reason == ending.message


def test_a_kill_by_another_process_is_not_taken_for_the_kernels(record):
    process = subprocess.Popen([sys.executable, "-c", GREEDY], stdin=subprocess.PIPE)
    before = out_of_memory.counts()
    process.kill()
    process.communicate()
    if before.machine is None:
        pytest.skip("this kernel does not count what it kills")
    reason = judged(record, None, process.returncode, before=before).reason
    assert "sent by another process" in reason or "probably" in reason  # another one may have run out meanwhile


@contextlib.contextmanager
def control_group(limit_bytes: int):
    """A group of our own, where this may be made."""
    for folder, name in (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (Path("/sys/fs/cgroup"), "memory.max"),
    ):
        group = folder / f"mosaic-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if (group / name).exists():
                (group / name).write_text(str(limit_bytes))
                with contextlib.suppress(OSError):  # no swap there
                    (group / "memory.swap.max").write_text("0")
                yield group
                return
        finally:
            group.rmdir()
    pytest.skip("no control group with a limit of memory can be made here")


def test_the_kernels_killer_is_told_with_numbers(record):
    with control_group(64 * 2**20) as group:
        process = subprocess.Popen([sys.executable, "-c", GREEDY], stdin=subprocess.PIPE)
        (group / "cgroup.procs").write_text(str(process.pid))
        before = out_of_memory.counts()
        process.communicate(b"\n")
        assert process.returncode == -9
        reason = judged(
            RunRecord(run_id="R", run_dir=record.run_dir, pid=process.pid),
            None,
            process.returncode,
            usage=Usage(peak_bytes=64 * 2**20),
            before=before,
        ).reason
    assert "out of memory" in reason
    assert "the worker had used 64 MiB at its peak" in reason
    if os.access("/dev/kmsg", os.R_OK):
        assert reason.startswith("out of memory: the kernel killed the worker; it had ")


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("low 0\nhigh 0\nmax 113\noom 3\noom_kill 2\noom_group_kill 0\n", 2),  # memory.events, cgroup v2
        ("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n", 1),  # memory.oom_control, cgroup v1
        ("nr_free_pages 1\noom_kill 7\nnr_unstable 0\n", 7),  # /proc/vmstat
        ("low 0\nhigh 0\n", None),
    ],
)
def test_the_counters_of_each_kernel_are_read(tmp_path, text, counted):
    (tmp_path / "file").write_text(text)
    assert out_of_memory._counter(tmp_path / "file") == counted
    assert out_of_memory._counter(tmp_path / "missing") is None


def test_a_line_of_the_kernels_log_is_read():
    line = (
        "3,1171,1839343316,-;Memory cgroup out of memory: Killed process 9315 (python3) total-vm:221356kB, "
        "anon-rss:61184kB, file-rss:6644kB, shmem-rss:0kB, UID:0 pgtables:180kB oom_score_adj:0"
    )
    assert out_of_memory._killed(line, since=1839.0) == (9315, 221356 * 1024, 61184 * 1024)
    assert out_of_memory._killed(line, since=1840.0) is None, "an earlier process with the same id"


def test_a_real_worker_under_a_limit_of_its_process_is_told_with_numbers(daemons, kit):
    daemon = daemons("--no-warm").start()
    wanted = kit.document(100_000_000)
    worker = wanted["metadata"]["worker"]["config"]
    worker["algo"], worker["extras"]["algo_params"] = "dqn", {"buffer_size": 70_000_000}
    # Workers inherit it. Enough for torch and all else, too little for the replay buffer.
    limit = psutil.Process(daemon.process.pid).memory_info().vms + 2 * GIB
    resource.prlimit(daemon.process.pid, resource.RLIMIT_AS, (limit, limit))
    run = daemon.client.submit(wanted)[0]
    ended = daemon.until(run.run_id, "failed", timeout_s=60)
    print(ended.reason, limit / GIB)
    assert ended.reason.startswith("out of memory: "), (ended.reason, ended.stderr_tail)
    assert f"its limit is {limit / GIB:.1f} GiB of address space" in ended.reason
    assert "at its peak" in ended.reason
