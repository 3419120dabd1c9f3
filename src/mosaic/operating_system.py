"""What only Linux offers, and what is done in its place on macOS. No other file of ours asks the kernel for these.

    what                                 Linux                        elsewhere
    who connected to a unix socket       SO_PEERCRED                  LOCAL_PEERCRED on macOS; else modes of the folder
    a socket without a name              O_PATH, /proc/self/fd        a name in a folder of mode 0700
    a path too long for a socket         /proc/self/fd                a link in a short temporary folder
    memory that processes share          /dev/shm, memfd_create       files in the temporary folder
    room for it, reserved                posix_fallocate              zeros, written
    orphans of a worker                  the daemon, as subreaper     init; and no warm worker, each run starts cold
    ending with the parent               prctl(PR_SET_PDEATHSIG)      a thread that looks once a second
    which signals a process catches      /proc/PID/status             a worker's note (`spec.processes.caught_signals`)
    when a process and the machine began /proc                        psutil
    a claim on a path of any home        an abstract socket           a locked file (`spec.processes.home_claim`)
    a fence around scripts               Landlock                     Python's audit hook (`foreign.fence`)

MOSAIC_PORTABLE=1 does on Linux, too, what is done elsewhere. It is for tests: all processes of a home must agree on it.
"""

import os
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

PORTABLE = "MOSAIC_PORTABLE"
LINUX = sys.platform == "linux" and os.environ.get(PORTABLE, "") in ("", "0")
LOOK_FOR_PARENT_S = 1.0
MAX_FOLDER_BYTES = 40
"""Names of rings and of their sockets follow behind it, and an address of a socket holds 104 bytes on macOS."""
ZEROS_BYTES = 1 << 20
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2
_XUCRED = struct.Struct("=IIh2x16I")
"""macOS, <sys/ucred.h>: version, uid, number of groups, groups."""


def available_cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if LINUX else os.cpu_count() or 1


def proc_lines(name: str) -> list[str] | None:
    """Lines of a file below /proc; None where there is none."""
    try:
        return Path("/proc", name).read_text().splitlines() if LINUX else None
    except OSError:
        return None


# Sockets.


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """Pid and uid of the process that connected, as the kernel noted them at that moment.

    Where no kernel tells, the modes of the folder are the guard: who could reach the socket is taken for our user.
    """
    if LINUX:
        pid, uid, _ = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return pid, uid
    if sys.platform == "darwin":
        return peer_of_macos(connection)
    return 0, os.geteuid()


def peer_of_macos(connection: socket.socket) -> tuple[int, int]:
    uid = int(_XUCRED.unpack(connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED.size))[1])
    return connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID), uid


@contextmanager
def name_through_folder(path: Path) -> Generator[str]:
    """A name for a file in a folder of any depth that is short enough for a socket's address."""
    if LINUX:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield f"/proc/self/fd/{folder}/{path.name}"
        finally:
            os.close(folder)
        return
    with tempfile.TemporaryDirectory(prefix="m-", dir=_short_temporary_folder()) as short:
        link = Path(short, "f")
        link.symlink_to(path.parent)
        yield str(link / path.name)


def take_name_off(path: Path) -> str:
    """The address of a bound socket that has, from now on, no name; where that cannot be, its name."""
    if not LINUX:
        return str(path)
    # The descriptor stays open as long as this process lives.
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    path.unlink()
    return f"/proc/self/fd/{descriptor}"


# Memory.


def shared_folders() -> tuple[Path, ...]:
    """Where files lie that processes share as memory: the first that has room is taken."""
    # In a container /dev/shm can be absent, or tiny.
    return (Path("/dev/shm"), Path(tempfile.gettempdir())) if LINUX else (_short_temporary_folder(),)


def nameless_file(name: str) -> int:
    """A file without a name, gone with its last holder; in memory where the system can: every disk may be full."""
    if LINUX:
        return os.memfd_create(name, os.MFD_CLOEXEC)
    with tempfile.TemporaryFile(prefix=name) as file:
        return os.dup(file.fileno())


def reserve(descriptor: int, size: int) -> None:
    """Make a file this large, its room taken: a full disk is an error here, not a SIGBUS at a later access."""
    if LINUX:
        os.posix_fallocate(descriptor, 0, size)
        return
    for start in range(0, size, ZEROS_BYTES):
        os.pwrite(descriptor, bytes(min(ZEROS_BYTES, size - start)), start)


def peak_bytes(max_resident: int) -> int:
    """`ru_maxrss` in bytes: Linux counts kilobytes, macOS bytes."""
    return max_resident if sys.platform == "darwin" else 1024 * max_resident


def _short_temporary_folder() -> Path:
    """macOS gives every user a folder of its own, with a long name."""
    usual = Path(tempfile.gettempdir())
    return usual if len(os.fsencode(usual)) <= MAX_FOLDER_BYTES else Path("/tmp")


# Processes.


def adopt_orphans() -> bool:
    """Become the parent of what our children leave behind (prctl(2), child subreaper); False where it cannot."""
    return LINUX and _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_parent(parent: int) -> None:
    """SIGTERM to this process once its parent is gone, however that ended."""
    if LINUX:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    else:
        threading.Thread(target=_look_for, args=(parent,), name="parent", daemon=True).start()


def has_ended(child: int) -> bool:
    """Whether a child of ours has ended; it stays a zombie, and its pid its own. ChildProcessError if it is none."""
    if LINUX:
        # WNOWAIT: as it is, until what it left behind is cleared away.
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    import psutil

    try:
        process = psutil.Process(child)
        if process.ppid() != os.getpid():
            raise ChildProcessError(child)
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.ZombieProcess:
        return True
    except psutil.NoSuchProcess:
        raise ChildProcessError(child) from None


def exit_code_of_group(leader: int) -> int | None:
    """The exit code of a child of ours that leads a process group; None while it runs. Negative is a signal.

    On Linux it stays a zombie, and its group as it is. Elsewhere its group is ended before it is waited for: its pid
    stays its own only so long.
    """
    if LINUX:
        ended = os.waitid(os.P_PID, leader, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    if not has_ended(leader):
        return None
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(leader, 0)[1])


def start_time(pid: int) -> float:
    """Linux counts ticks since the boot, which a changed wall clock does not move; elsewhere it is unix seconds."""
    lines = proc_lines(f"{pid}/stat")
    if lines is None:
        import psutil

        return psutil.Process(pid).create_time()
    # The second field is the program's name in parentheses, and may itself hold spaces and parentheses.
    return float("\n".join(lines).rpartition(")")[2].split()[19])


def boot_id() -> str:
    """Linux says it itself; elsewhere the boot time has to do."""
    lines = proc_lines("sys/kernel/random/boot_id")
    if lines is None:
        import psutil

        return str(int(psutil.boot_time()))
    return lines[0].strip()


def threads() -> int:
    """Of this process, those of libraries too; 0 where the system does not tell."""
    return len(list(Path("/proc/self/task").iterdir())) if LINUX else 0


def lower_priority(niceness: int) -> None:
    """Of every thread, those of a graphics driver too: on Linux it is each thread's own."""
    for thread in [int(thread.name) for thread in Path("/proc/self/task").iterdir()] if LINUX else [0]:
        os.setpriority(os.PRIO_PROCESS, thread, niceness)


def lower_session_priority(niceness: str) -> None:
    """Where Linux shares the processor by sessions first (sched(7), autogrouping), a nice value counts only within."""
    if LINUX:
        Path("/proc/self/autogroup").write_text(niceness)


def raise_priority(niceness: int) -> None:
    """Of every thread of this process and of those that it has started; PermissionError where the user may not."""
    import psutil

    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            for thread in [each.id for each in process.threads()] if LINUX else [process.pid]:
                os.setpriority(os.PRIO_PROCESS, thread, niceness)


def higher_session_priority(niceness: int) -> None:
    """The session's share (`lower_session_priority`); no user is refused it, as long as it is not below zero."""
    lower_session_priority(str(niceness))


def waited_s(thread: int) -> float | None:
    """Seconds for which a thread of this process could have run and did not get the processor; None if not known."""
    lines = proc_lines(f"self/task/{thread}/schedstat")
    return int(lines[0].split()[1]) / 1e9 if lines else None


def _prctl(option: int, value: int) -> bool:
    import ctypes

    with suppress(OSError, AttributeError):
        return ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) == 0
    return False


def _look_for(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_FOR_PARENT_S)
    os.kill(os.getpid(), signal.SIGTERM)
