"""One start of a run on another machine, as the daemon knows it, and the file in which a later daemon finds it.

<home>/trainer/starts/<RUN>.json    for the owner alone: it holds the token of the start's agent
"""

import hmac
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from annotated_types import Ge
from google.protobuf import json_format

from mosaic import config
from mosaic.config import JsonValue
from mosaic.rpc import agent_pb2 as wire
from mosaic.spec.files.shared_files import read_small, write_atomically
from mosaic.spec.run_dir import Home, RunDir, checked_run_id


@dataclass(frozen=True, kw_only=True)
class StartFile:
    """What is kept of a start."""

    run_id: str
    """ULID."""
    epoch: Annotated[int, Ge(1)]
    """Number of the start."""
    engine: str
    """What started it."""
    token: str
    """What its agent proves itself with."""
    place: str = ""
    """Where it was sent, in the engine's words: a host, a job."""
    assignment: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """What the agent is told to start (docs/protocols/agent.md)."""
    begun_by: str = ""
    """The folder in which its worker was, or may have been, started; empty before that."""
    whole_s: Annotated[float, Ge(0)] = 0.0
    """How long its worker may work after the newest lease, at most: a later daemon may grant shorter ones."""
    ended: str = ""
    """How its worker ended, an `Ended` as JSON without its files; empty before that."""


@dataclass
class Start:
    """A start while it goes on. Its link, and threads that ask for something, share it under `lock`."""

    file: StartFile
    run_dir: RunDir
    lock: threading.Lock = field(default_factory=threading.Lock)
    host: str = ""
    """The node, once its agent has said it."""
    pid: int = 0
    """Of the worker, on the node."""
    would_save: bool = False
    is_linked: bool = False
    linked_at: float = 0.0
    """When its agent was heard last, by the clock of the leases."""
    stop_asked: int = 0
    """How often."""
    held: bool | None = None
    """Whether its worker is to wait; None if this daemon was not asked about it."""
    killed: bool = False
    ended: wire.Ended | None = None
    over: bool = False
    """It was judged: nothing more is taken from its agent."""
    problem: str = ""
    """Why it can never begin, in words for the user."""
    tell: Callable[[wire.ToAgent], None] | None = None
    """Sends to its agent, while that is linked."""

    @classmethod
    def of(cls, file: StartFile, run_dir: RunDir) -> "Start":
        ended = json_format.Parse(file.ended, wire.Ended(), ignore_unknown_fields=True) if file.ended else None
        return cls(file, run_dir, ended=ended)

    @property
    def is_over(self) -> bool:
        """Its agent has nothing more to do: it was judged, or all of it is here."""
        return self.over or self.ended is not None

    def bears(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.file.token.encode())

    def send(self, message: wire.ToAgent) -> bool:
        """False if the agent is not there now."""
        tell = self.tell
        if tell is None:
            return False
        tell(message)
        return True

    def commands(self) -> list[wire.ToAgent]:
        """What an agent that links again must be told: it does not know what was asked while it was away."""
        verbs = [] if self.held is None else ["hold" if self.held else "go_on"]
        verbs += ["stop"] * min(self.stop_asked, 1) + (["kill"] if self.killed else [])
        return [wire.ToAgent(command=wire.WorkerCommand(verb=verb)) for verb in verbs]


def write(home: Home, file: StartFile) -> None:
    """Durable when this returns: before an agent can be there that has the token."""
    folder = home.starts
    folder.mkdir(mode=0o700, exist_ok=True)
    write_atomically(_path(home, file.run_id), json.dumps(config.to_json(file), indent=1) + "\n", mode=0o600)


def read(home: Home, run_id: str) -> StartFile | None:
    """None if there is none. What cannot be read is an error: its worker may be at work."""
    path = _path(home, run_id)
    try:
        text = read_small(path)
    except FileNotFoundError:
        return None
    return config.from_json_text(StartFile, text, what=str(path))


def forget(home: Home, run_id: str) -> None:
    _path(home, run_id).unlink(missing_ok=True)


def _path(home: Home, run_id: str) -> Path:
    return home.starts / f"{checked_run_id(run_id)}.json"


Assignment = Mapping[str, JsonValue]
