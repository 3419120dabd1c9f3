"""Files of a run, opened so that no link leads out of its folder and no pipe or device holds up the reader.

Each part of a name is opened in the folder before it (openat) without following a link, so there is no moment between
a check and the opening. A link, a pipe, a device, `..`, an absolute path and a name that is not there all give the same
answer, NotAFile: what lies outside of the folder cannot be told by asking.
"""

import errno
import os
import stat
from pathlib import Path, PurePosixPath
from typing import BinaryIO

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class NotAFile(FileNotFoundError):
    """There is no such file here, or what is there is a link, a pipe or a device."""

    def __init__(self, name: str | Path) -> None:
        super().__init__(errno.ENOENT, "no file, or a link, a pipe or a device", str(name))


def open_beneath(root: Path, name: str | Path, *, append: bool = False) -> BinaryIO:
    """A plain file of a folder, by its name relative to it; the folder itself may be a link."""
    with _Place(root, name) as place:
        try:
            how = _APPEND if append else _READ
            descriptor = os.open(place.last, how | os.O_NOFOLLOW, 0o666, dir_fd=place.folder)
        except OSError as error:
            raise _told(error, name) from error
    return _as_file(descriptor, name, append=append)


def look_beneath(root: Path, name: str | Path) -> os.stat_result | None:
    """Of a plain file or folder in a folder; None for anything else and for what is not there."""
    try:
        with _Place(root, name) as place:
            found = os.stat(place.last, dir_fd=place.folder, follow_symlinks=False)
    except OSError:
        return None
    return found if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode) else None


def open_regular(path: Path, *, follow: bool = False) -> BinaryIO:
    """A plain file at a path; `follow` for one that a user named, who may name a link."""
    if not follow:
        return open_beneath(path.parent, path.name)
    return _as_file(os.open(path, _READ), path, append=False)


def is_regular(path: Path) -> bool:
    found = look_beneath(path.parent, path.name)
    return found is not None and stat.S_ISREG(found.st_mode)


class _Place:
    """The folder that holds a name, open, and the last part of the name."""

    def __init__(self, root: Path, name: str | Path) -> None:
        self._root = root
        self._name = name
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts or parts[0] == "/" or not _is_a_name(name):
            raise NotAFile(name)
        *self._between, self.last = parts
        self.folder = -1

    def __enter__(self) -> "_Place":
        try:
            self.folder = os.open(self._root, _FOLDER)
            for part in self._between:
                inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=self.folder)
                os.close(self.folder)
                self.folder = inner
        except OSError as error:
            self.__exit__()
            raise _told(error, self._name) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self.folder >= 0:
            os.close(self.folder)
            self.folder = -1


def _is_a_name(name: str | Path) -> bool:
    """Whether the file system could have such a name: without NUL, and with nothing that is not a character."""
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def _as_file(descriptor: int, name: str | Path, *, append: bool) -> BinaryIO:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise NotAFile(name)
    return os.fdopen(descriptor, "ab" if append else "rb")


_NOT_HERE = (errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EISDIR, errno.ENXIO, errno.ENODEV)


def _told(error: OSError, name: str | Path) -> OSError:
    """What a name says of itself is one and the same answer; what the disk says (EIO, EACCES, EMFILE) is passed on."""
    return NotAFile(name) if error.errno in _NOT_HERE else error
