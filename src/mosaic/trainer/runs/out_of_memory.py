"""Whether a worker ran out of memory, with the numbers: from its own words, or from what the kernel counts.

The kernel's out-of-memory killer sends a SIGKILL like any other. What tells them apart:

    /dev/kmsg                      "Out of memory: Killed process 4711 (python) total-vm:…kB, anon-rss:…kB" (root only)
    memory.events                  `oom_kill N` of our control group (cgroup v2)
    memory.oom_control             the same of cgroup v1
    /proc/vmstat                   `oom_kill N` of the whole machine, other containers included: a hint, no proof
"""

import errno
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from mosaic.operating_system import proc_lines

WORDS = re.compile(
    r"std::bad_alloc|MemoryError|DefaultCPUAllocator|Cannot allocate memory|Unable to allocate|[Oo]ut of memory"
)
"""How Python, numpy, torch, C++ and the C library say that they got none."""
_ASKED = re.compile(r"Unable to allocate ([\d.]+ [KMGT]iB)|tried to allocate (\d+) bytes")
_KILLED = re.compile(r"[Oo]ut of memory: Killed process (\d+) .*?total-vm:(\d+)kB, anon-rss:(\d+)kB")
_NO_LIMIT = 2**60
"""cgroup v1 writes a number of about this size where nothing is set."""
_CLOCKS_DIFFER_S = 5.0


@dataclass(frozen=True)
class Usage:
    """What a worker that has ended was given, and had taken; None where that is not known."""

    peak_bytes: int | None = None
    """Resident memory at its peak."""
    address_limit_bytes: int | None = None
    """RLIMIT_AS."""


@dataclass(frozen=True)
class KernelCounts:
    """What the kernel had counted at a moment; None where it does not tell."""

    at: float
    """Seconds since the boot."""
    group: int | None
    """Processes that it killed for memory, of our control group."""
    machine: int | None


def counts() -> KernelCounts:
    group = _group_file("memory.events", "memory.oom_control")
    in_group = None if group is None else _counter(group)
    return KernelCounts(time.monotonic(), in_group, _kills(proc_lines("vmstat")))


def in_words(text: str, usage: Usage) -> str | None:
    """The reason of a failure whose message tells of memory; None if it tells of something else."""
    if not WORDS.search(text):
        return None
    asked = _ASKED.search(text)
    # The GPU's allocator tells its own numbers; the machine's say nothing about it.
    facts = [] if "CUDA" in text else _facts(usage)
    if asked is not None:
        amount = asked[1] or _size(int(asked[2]))
        facts.insert(0, f"{amount} more were asked for")
    said = next((line.strip() for line in reversed(text.splitlines()) if WORDS.search(line)), "")
    return f"out of memory: {'; '.join([*facts, f'it said: {said}'])}"


def of_a_kill(pid: int, usage: Usage, before: KernelCounts) -> str | None:
    """The reason if it was the kernel that killed a worker, as far as the kernel tells; None if it tells otherwise."""
    now = counts()
    if found := _in_kernel_log(pid, since=before.at - _CLOCKS_DIFFER_S):
        virtual, resident = found
        facts = [f"it had {_size(resident)} resident and {_size(virtual)} of address space then", *_facts(usage)]
        return f"out of memory: the kernel killed the worker; {'; '.join(facts)}"
    if _more(before.group, now.group):
        return f"out of memory: the kernel killed a process of this control group; {'; '.join(_facts(usage))}"
    if _more(before.machine, now.machine):
        return (
            "the worker was killed by SIGKILL, probably out of memory: the kernel killed a process of this machine for "
            f"that meanwhile; {'; '.join(_facts(usage))}"
        )
    if now.group is None and now.machine is None:
        return f"the worker was killed by SIGKILL; the machine may have run out of memory; {'; '.join(_facts(usage))}"
    return None


def address_limit_of(pid: int) -> int | None:
    """RLIMIT_AS of a process, also of one that has ended and was not waited for yet."""
    lines = proc_lines(f"{pid}/limits") or []
    soft = next((line.split()[3] for line in lines if line.startswith("Max address space")), "")
    return int(soft) if soft.isdigit() else None


def _facts(usage: Usage) -> list[str]:
    facts: list[str] = []
    if usage.peak_bytes is not None:
        facts.append(f"the worker had used {_size(usage.peak_bytes)} at its peak")
    if usage.address_limit_bytes is not None:
        facts.append(f"its limit is {_size(usage.address_limit_bytes)} of address space (ulimit -v)")
    if (limit := _group_limit()) is not None:
        facts.append(f"its control group may use {_size(limit)}")
    memory = psutil.virtual_memory()
    return [*facts, f"{_size(memory.available)} of {_size(memory.total)} are free on this machine now"]


def _more(before: int | None, now: int | None) -> bool:
    return before is not None and now is not None and now > before


def _counter(path: Path) -> int | None:
    try:
        return _kills(path.read_text().splitlines())
    except OSError:
        return None


def _kills(lines: list[str] | None) -> int | None:
    found = [line.split()[1] for line in lines or [] if line.startswith("oom_kill ")]
    return int(found[0]) if found else None


def _group_limit() -> int | None:
    """Of our control group, which our workers share."""
    path = _group_file("memory.max", "memory.limit_in_bytes")
    try:
        text = path.read_text().strip() if path is not None else ""
    except OSError:
        return None
    return int(text) if text.isdigit() and int(text) < _NO_LIMIT else None


def _group_file(v2: str, v1: str) -> Path | None:
    """A file of our control group for memory, of the version that has one."""
    groups = [line.split(":", 2) for line in proc_lines("self/cgroup") or []]
    mounts = [line.split() for line in proc_lines("self/mounts") or []]
    for _, kinds, path in groups:
        for _, folder, kind, options, *_ in mounts:
            name = v2 if kind == "cgroup2" and not kinds else v1 if kind == "cgroup" and kinds == "memory" else ""
            if not name or (kind == "cgroup" and "memory" not in options.split(",")):
                continue
            # In a container the path may be that of the host, of which only the own part is mounted.
            for file in (Path(folder) / path.lstrip("/") / name, Path(folder) / name):
                if file.exists():
                    return file
    return None


def _in_kernel_log(pid: int, *, since: float) -> tuple[int, int] | None:
    """Address space and resident memory of a process that the kernel killed for memory, by its log."""
    try:
        descriptor = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        while True:
            try:
                record = os.read(descriptor, 8192).decode(errors="replace")
            except OSError as error:
                if error.errno == errno.EPIPE:  # overwritten while we read: the next one is there
                    continue
                return None
            found = _killed(record, since)
            if found is not None and found[0] == pid:
                return found[1], found[2]
    finally:
        os.close(descriptor)


def _killed(record: str, since: float) -> tuple[int, int, int] | None:
    """Process, address space and resident bytes of `priority,number,microseconds,flags;message`."""
    head, _, message = record.partition(";")
    found = _KILLED.search(message)
    if found is None or int(head.split(",")[2]) / 1e6 < since:
        return None
    return int(found[1]), 1024 * int(found[2]), 1024 * int(found[3])


def _size(count: int) -> str:
    return f"{count / 2**30:.1f} GiB" if count >= 2**30 else f"{count / 2**20:.0f} MiB"
