"""Pictures and films of runs for a page: those that the runs left behind, in the file itself."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from mosaic.cli.sharing.html_page import text
from mosaic.errors import MosaicError
from mosaic.rpc.client import Client
from mosaic.spec.run_record import RunRecord

LARGEST = 6 * 2**20
"""Bytes of one that is shown."""
MOST_BYTES = 40 * 2**20
"""Of all on a page."""
A_RUN = 3
"""The newest so many of each run."""
KINDS: dict[str, tuple[str, bytes, int]] = {
    ".png": ("image/png", b"\x89PNG\r\n\x1a\n", 0),
    ".jpg": ("image/jpeg", b"\xff\xd8\xff", 0),
    ".jpeg": ("image/jpeg", b"\xff\xd8\xff", 0),
    ".gif": ("image/gif", b"GIF8", 0),
    ".mp4": ("video/mp4", b"ftyp", 4),
    ".webm": ("video/webm", b"\x1a\x45\xdf\xa3", 0),
}
"""By the ending of a name: what it is, and the bytes that such a file has at a place, whatever its name says."""
CSS = """
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 260px), 1fr)); gap: 0 20px; }
.pictures img, .pictures video { width: 100%; max-height: 320px; object-fit: contain; background: var(--line); }
.pictures figure { margin: .5em 0 1em; } .pictures figcaption { overflow-wrap: anywhere; }
"""


@dataclass(frozen=True)
class Pictures:
    html: str
    left_out: Sequence[str]
    """In sentences."""


def pictures_of(client: Client, runs: Sequence[RunRecord]) -> Pictures:
    room, figures, left_out = MOST_BYTES, list[str](), list[str]()
    for run in runs:
        for name, size in _newest(client.files(run.run_id)):
            who = f"{name} of {run.label or run.run_id}"
            if size > min(LARGEST, room):
                left_out.append(f"{who} has {size / 2**20:.1f} MiB, too much for the page: it is left out")
                continue
            try:
                data = b"".join(client.read_artifact(run.run_id, name))
            except MosaicError as error:
                left_out.append(f"{who} cannot be read: {error}")
                continue
            figure = _figure(run, name, data)
            if figure:
                figures.append(figure)
                room -= len(data)
    html = f"<h2>Pictures</h2><div class='pictures'>{''.join(figures)}</div>" if figures else ""
    return Pictures(html, left_out)


def _newest(files: dict[str, int]) -> Iterator[tuple[str, int]]:
    """The last names of each kind of thing: those of videos end with a growing number."""
    shown = [name for name in files if PurePosixPath(name).suffix.lower() in KINDS and files[name]]
    yield from ((name, files[name]) for name in sorted(shown, key=_by_number)[-A_RUN:])


def _by_number(name: str) -> tuple[str, int, str]:
    path = PurePosixPath(name)
    digits = "".join(letter if letter.isdigit() else " " for letter in path.stem).split()
    return str(path.parent), int(digits[-1]) if digits else -1, name


def _figure(run: RunRecord, name: str, data: bytes) -> str:
    kind, mark, at = KINDS[PurePosixPath(name).suffix.lower()]
    if data[at : at + len(mark)] != mark:
        return ""  # Not what its name says: nothing that a browser could show.
    address = f"data:{kind};base64,{base64.b64encode(data).decode()}"
    about = text(f"{run.label or run.run_id}: {PurePosixPath(name).name}")
    if kind.startswith("video/"):
        shown = f'<video controls muted loop playsinline src="{address}" aria-label="{about}"></video>'
    else:
        shown = f'<img src="{address}" alt="{about}">'
    return f"<figure>{shown}<figcaption>{about}</figcaption></figure>"
