"""What a run left behind, as the window lists it; asked of the daemon, so that it is the same from another machine."""

import contextlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mosaic import config
from mosaic.errors import HomeUnusable
from mosaic.plain_text import plain_line
from mosaic.rpc.client import Client
from mosaic.spec.logs.terminal_text import plain

GROUPS: Mapping[str, tuple[str, str]] = {
    "policy": ("Policy", "brain-circuit"),
    "checkpoint": ("Checkpoints", "flag"),
    "video": ("Videos", "film"),
    "eval_summary": ("Evaluation", "file-text"),
    "script": ("Script", "file-text"),
    "plans": ("Plans", "file-text"),
    "tensorboard": ("TensorBoard", "chart-line"),
    "wandb": ("Weights & Biases", "chart-line"),
    "config": ("Config", "sliders-horizontal"),
    "log": ("Logs", "terminal"),
}
"""Title and icon of each kind, in the order of the tree."""
KINDS = {"events": "log"}
"""Kinds that are listed under another."""
FOLDERS = frozenset({"checkpoint", "tensorboard", "wandb"})
MOST_TEXT = 512 * 1024
LONGEST_LINE = 5000
_EPISODE = re.compile(r"rl-video-episode-(\d+)")
TEXTS = (".py", ".asl", ".json", ".jsonl", ".log", ".txt", ".yaml", ".yml", ".md", ".csv")


@dataclass(frozen=True)
class Kept:
    """One thing that a run left behind."""

    kind: str
    path: str
    """Relative to the run directory."""
    step: int | None = None
    label: str = ""
    size_bytes: int = 0
    """0 where it is not known: a folder on another machine."""
    newer: int = 0
    """Of a checkpoint: how many of this run lie after it."""

    @property
    def is_folder(self) -> bool:
        return self.kind in FOLDERS

    @property
    def is_text(self) -> bool:
        return not self.is_folder and self.path.endswith(TEXTS)

    @property
    def name(self) -> str:
        """For the user; the file's own name stays visible as a tool tip."""
        file, step = Path(self.path), "" if self.step is None else f"step {self.step:,}"
        episode = _EPISODE.fullmatch(file.stem) if self.kind == "video" else None
        first = f"episode {episode[1]}" if episode else "" if self.kind == "checkpoint" and step else file.name
        return plain_line(" · ".join(part for part in (first, step, self.label) if part))


@dataclass(frozen=True)
class Text:
    """The beginning of a file and of its lines, or all of it."""

    content: str
    whole: bool


def listed(client: Client, run_id: str, folder: Path | None) -> Sequence[Kept]:
    """All of a run, in the order of the tree; `folder` is its directory if that is on this machine."""
    found = [
        Kept(
            KINDS.get(one.kind, one.kind),
            one.path,
            one.global_step if one.HasField("global_step") else None,
            one.label,
            one.bytes or _size(folder, one.path),
        )
        for one in client.artifacts(run_id)
    ]
    found.append(Kept("config", "config.json", size_bytes=_size(folder, "config.json")))
    order = list(GROUPS)
    steps = [one.step for one in found if one.kind == "checkpoint" and one.step is not None]
    shown = [
        replace(one, newer=sum(step > (one.step or 0) for step in steps)) if one.kind == "checkpoint" else one
        for one in found
        if one.kind in GROUPS
    ]
    # The newest checkpoint and the newest video first: the ones that are wanted.
    return sorted(shown, key=lambda one: (order.index(one.kind), -(one.step or 0), _natural(one.path)))


def text_of(client: Client, run_id: str, path: str) -> Text:
    """A file as readable text; JSON is laid out, what a terminal would not show is left out."""
    data = bytearray()
    stream = client.read_artifact(run_id, path)
    for chunk in stream:
        data += chunk
        if len(data) > MOST_TEXT:
            stream.stop()
            break
    whole = len(data) <= MOST_TEXT
    content = data[:MOST_TEXT].decode(errors="replace")
    if path.endswith(".json") and whole:
        # What is not JSON is shown as it is: that is what is wrong with it.
        with contextlib.suppress(ValueError):
            content = json.dumps(config.any_json(content), indent=2, ensure_ascii=False)
    lines = [plain(line) for line in content.split("\n")]
    # A view takes seconds to lay out a line of half a million characters.
    whole = whole and all(len(line) <= LONGEST_LINE for line in lines)
    return Text("\n".join(line[:LONGEST_LINE] for line in lines), whole)


def fetch(client: Client, run_id: str, path: str, target: Path) -> Path:
    """Copy a file of a run to this machine; it has its name only when it is whole."""
    partial = target.with_name(f"{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            for chunk in client.read_artifact(run_id, path):
                file.write(chunk)
        partial.replace(target)
    except OSError as error:
        raise HomeUnusable(f"{target} could not be written: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)
    return target


def _size(folder: Path | None, path: str) -> int:
    """Of a file, or of all that is in a folder."""
    if folder is None:
        return 0
    place = folder / path
    try:
        if place.is_file():
            return place.stat().st_size
        files = [Path(root) / name for root, _, names in os.walk(place) for name in names]
        return sum(file.lstat().st_size for file in files)
    except OSError:  # Replaced or removed while we count.
        return 0


def _natural(path: str) -> tuple[object, ...]:
    """episode-8 before episode-27."""
    digits = "".join(character if character.isdigit() else " " for character in Path(path).stem).split()
    return (int(digits[-1]) if digits else 0, path)
