"""A fence around what a script may write to: its working directory, temporary files, devices and caches.

Landlock (Linux 5.13) makes the kernel refuse everything else, to the script, to what it forks and to any library
in any language. Where there is none, an audit hook refuses what Python itself is asked to open or change.
The layout of Landlock's structures is that of <linux/landlock.h>: a ruleset is {u64 handled_access_fs}, a rule
{u64 allowed_access, s32 parent_fd} without padding.
"""

import ctypes
import os
import struct
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mosaic.operating_system import LINUX

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION, _PATH_BENEATH, _NO_NEW_PRIVS = 1, 1, 38
_WRITE_FILE, _TRUNCATE, _REFER = 1 << 1, 1 << 14, 1 << 13
_CHANGES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
"""Writing, and making or removing anything in a folder."""
_ON_FILES = _WRITE_FILE | _TRUNCATE
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_AUDITED = {"os.mkdir": 1, "os.remove": 1, "os.rmdir": 1, "os.rename": 2, "os.link": 2, "os.symlink": 2}
"""Events of Python's audit, and how many paths of theirs are changed."""


class WroteOutside(PermissionError):
    """The script wanted to change something that is not its own."""


def allowed_folders(work: Path, also: Sequence[Path]) -> list[Path]:
    caches = [os.environ.get(name) for name in ("XDG_CACHE_HOME", "TORCH_HOME", "HF_HOME", "MPLCONFIGDIR")]
    wanted = [work, *also, Path(tempfile.gettempdir()), Path("/dev"), Path("/proc")]
    wanted += [Path.home() / name for name in (".cache", ".nv", ".triton", ".minari")]
    wanted += [Path(one) for one in caches if one]
    return [folder.resolve() for folder in wanted if folder.exists()]


def put_up(work: Path, also: Sequence[Path] = ()) -> str:
    """From here on, for this thread and all that it starts; which of the two it is."""
    folders = allowed_folders(work, also)
    if _landlock(folders):
        return "landlock"
    sys.addaudithook(_audit(folders))
    return "audit"


def explained(error: PermissionError, run_dir: Path) -> str | None:
    """What to tell of an error that the fence caused; None for another one."""
    if error.filename is None:
        return None
    path = Path(os.fsdecode(error.filename)).resolve()
    if any(path.is_relative_to(folder) for folder in allowed_folders(run_dir / "work", ())):
        return None
    return (
        f"the script wanted to write to {path}; it may write into its working directory only"
        " (give it a path relative to that)"
    )


def _landlock(folders: Sequence[Path]) -> bool:
    if not LINUX:
        # The numbers below are Linux's: on another system they would be other calls.
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE, None, 0, _VERSION)
    if version < 1:
        return False
    rights = _CHANGES | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    handled = ctypes.create_string_buffer(struct.pack("=Q", rights), 8)
    ruleset = libc.syscall(_CREATE, handled, 8, 0)
    if ruleset < 0:
        return False
    try:
        for folder in folders:
            parent = os.open(folder, os.O_PATH | os.O_CLOEXEC)
            try:
                # What is not a folder takes no rights of folders.
                granted = rights if folder.is_dir() else rights & _ON_FILES
                rule = ctypes.create_string_buffer(struct.pack("=Qi", granted, parent), 12)
                if libc.syscall(_ADD, ruleset, _PATH_BENEATH, rule, 0):
                    return False
            finally:
                os.close(parent)
        libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
        return libc.syscall(_RESTRICT, ruleset, 0) == 0
    finally:
        os.close(ruleset)


def _audit(folders: Sequence[Path]) -> Any:
    roots = [str(folder) for folder in folders]
    # As with Landlock: threads that live already keep the record, and may write to it.
    free = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}

    def check(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            if isinstance(path, str | bytes | os.PathLike) and _writes(mode, flags):
                refuse(path)
        elif event in _AUDITED:
            for path in arguments[: _AUDITED[event]]:
                refuse(path)

    def refuse(path: Any) -> None:
        if not isinstance(path, str | bytes | os.PathLike) or threading.get_ident() in free:
            return
        real = os.path.realpath(os.fsdecode(path))
        if not any(real == root or real.startswith(root + os.sep) for root in roots):
            raise WroteOutside(13, "outside of the working directory", os.fsdecode(path))

    return check


def _writes(mode: Any, flags: Any) -> bool:
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return isinstance(flags, int) and bool(flags & _WRITING)
