"""Messages over SPADE: one hub for each session, a process, and the box of each of its agents."""

import collections
import contextlib
import itertools
import json
import logging
import queue
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import agentspeak
from agentspeak import GoalType, Literal, Trigger, lexer, parser, runtime

from mosaic.errors import ActorFailed
from mosaic.spec.processes.python_child import PythonChild, wait_or_kill

HUB = "cleanrl_worker.sdk.bdi.spade_server"
START_S = 30.0
ARRIVE_S = 5.0
END_S = 5.0
FORCES = {
    (Trigger.addition, GoalType.belief): "tell",
    (Trigger.removal, GoalType.belief): "untell",
    (Trigger.addition, GoalType.achievement): "achieve",
}
Meant = Callable[[dict[str, Any]], bool]
KEPT = 1000
"""Lines of the hub that a reader may still wait for."""
MEANINGS = {force: meaning for meaning, force in FORCES.items()}

_lock = threading.Lock()
_offices: "dict[Path, Office]" = {}
"""By session."""


class Office:
    """The hub of a session, for all of its agents; ends with the last of them."""

    def __init__(self, session: Path, port: int) -> None:
        self._session = session
        self.boxes: dict[str, SpadeBox] = {}
        self._news = threading.Condition()
        self._said: collections.deque[dict[str, Any]] = collections.deque(maxlen=KEPT)
        self._ended = False
        self._numbers = itertools.count(1)
        self._folder = tempfile.TemporaryDirectory(prefix="mosaic-spade-")
        child = PythonChild(module=HUB, words=(str(port), self._folder.name), cwd=Path(self._folder.name))
        self._process = child.popen(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self._thread = threading.Thread(target=self._hear, name="spade", daemon=True)
        self._thread.start()
        try:
            started = self._wait(lambda said: "port" in said, None, START_S, "SPADE's server does not start")
        except ActorFailed:
            self.close()
            raise
        self.port = int(started["port"])

    def join(self, box: "SpadeBox") -> None:
        self.boxes[box.name] = box
        self._tell({"join": box.name})
        name = box.name
        self._wait(lambda said: said.get("joined") == name, name, START_S, f"{name} cannot join SPADE's server")

    def send(self, sender: str, receivers: Sequence[str], force: str, body: str) -> None:
        """Has arrived when this returns, at agents of this session; those of others have it a little later."""
        number = next(self._numbers)
        self._tell({"id": number, "from": sender, "to": list(receivers), "ilf": force, "body": body})
        self._wait(lambda said: said.get("sent") == number, number, ARRIVE_S, "SPADE does not send the message")
        for name in [each for each in receivers if each in self.boxes]:
            self._wait(
                lambda said, name=name: said.get("for") == name and said.get("id") == str(number),
                number,
                ARRIVE_S,
                f"the message to {name} does not arrive",
            )

    def leave(self, name: str) -> None:
        with _lock:
            self.boxes.pop(name, None)
            if self.boxes or _offices.get(self._session) is not self:
                return
            del _offices[self._session]
        self.close()

    def close(self) -> None:
        # A border: a hub that is gone cannot be told to go.
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        wait_or_kill(self._process, END_S)
        self._thread.join(END_S)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._folder.cleanup()

    def _tell(self, what: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with self._news:
            try:
                self._process.stdin.write(json.dumps(what).encode() + b"\n")
                self._process.stdin.flush()
            except OSError as error:
                raise ActorFailed(f"SPADE's server is gone: {error.strerror}") from error

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            if (box := self.boxes.get(said.get("for", ""))) is not None:
                box.put(said)
            with self._news:
                self._said.append(said)
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _wait(self, meant: Meant, of: Any, timeout_s: float, otherwise: str) -> dict[str, Any]:
        """The line that is meant, or the problem of what was asked for."""

        def is_it(said: dict[str, Any]) -> bool:
            return meant(said) or ("problem" in said and said.get("of") == of)

        def found() -> dict[str, Any] | None:
            return next((said for said in self._said if is_it(said)), None)

        with self._news:
            self._news.wait_for(lambda: self._ended or found() is not None, timeout_s)
            said = found()
        if said is None or "problem" in said:
            raise ActorFailed(f"{otherwise}: {said['problem'] if said else 'it does not answer'}")
        return said


class SpadeBox:
    """As `post.Box`, by way of the hub. A name with an @ is an agent of another program."""

    def __init__(self, session: Path, name: str, port: int) -> None:
        self.name = name
        self._letters: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.taken: list[list[dict[str, Any]]] = []
        self._to_repeat: collections.deque[list[dict[str, Any]]] = collections.deque()
        with _lock:
            office = _offices.get(session)
            if office is None:
                office = _offices[session] = Office(session, port)
        self._office = office
        office.join(self)

    @property
    def port(self) -> int:
        return self._office.port

    def turn_over(self) -> None:
        """What came during the episode before is not for this one."""
        self.taken = []
        self._to_repeat.clear()
        while not self._letters.empty():
            self._letters.get_nowait()

    def put(self, letter: dict[str, Any]) -> None:
        self._letters.put(letter)

    def send(self, names: Sequence[str], letter: Any) -> None:
        """To these agents, or to all others of the session; KeyError names one that is not there."""
        if self._to_repeat:
            return
        meaning, message = letter
        for name in names:
            if "@" not in name and name not in self._office.boxes:
                raise KeyError(name)
        receivers = names or [name for name in self._office.boxes if name != self.name]
        body = agentspeak.asl_str(Literal(message.functor, message.args))
        self._office.send(self.name, receivers, FORCES[meaning], body)

    def wait(self, timeout_s: float) -> list[Any]:
        """What is there, or comes within this time."""
        try:
            self._letters.put(self._letters.get(timeout=timeout_s))
        except queue.Empty:
            return []
        return self.emptied()

    def state(self) -> dict[str, Any]:
        """The letters of the present episode, by the steps at which they were read, and those that are not read yet."""
        waiting = self._arrived()
        for letter in waiting:
            self._letters.put(letter)
        return {"taken": [*self.taken], "waiting": waiting}

    def repeat(self, state: Mapping[str, Any]) -> None:
        """Give the letters of these steps again, and send none meanwhile."""
        self._to_repeat.extend(state["taken"])

    def go_on(self, state: Mapping[str, Any]) -> None:
        """The steps have been repeated."""
        for letter in state["waiting"]:
            self._letters.put(letter)

    def emptied(self) -> list[Any]:
        letters = self._to_repeat[0] if self._to_repeat else self._arrived()
        self.taken.append(letters)
        found: list[Any] = []
        for letter in letters:
            if letter["ilf"] in MEANINGS:
                name = str(letter["source"]).removesuffix("@localhost")
                # One of the session by its name, another one by its whole address, to which a plan may answer.
                sender = Literal(name) if name in self._office.boxes else str(letter["source"])
                found.append((MEANINGS[letter["ilf"]], _read(letter["body"], sender)))
        return found

    def decided(self) -> None:
        """The letters of this step have been read, and answered."""
        if self._to_repeat:
            self._to_repeat.popleft()

    def _arrived(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while not self._letters.empty():
            found.append(self._letters.get_nowait())
        return found

    def leave(self) -> None:
        self._office.leave(self.name)


def _read(body: str, sender: Literal | str) -> Any:
    """The literal that was sent, with its sender as its source."""
    log = agentspeak.Log(logging.getLogger("agentspeak.parser"))
    # With the full stop that ends a belief in a file.
    tokens = lexer.TokenStream(agentspeak.StringSource(f"message of {sender}", f"{body} ."), log)
    _, tree = parser.parse_literal(next(tokens), tokens, log)
    log.throw()
    literal = tree.accept(runtime.BuildTermVisitor({}))
    return literal.with_annotation(Literal("source", (sender,)))
