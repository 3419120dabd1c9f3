"""Recorded episodes by name (`RUN/EPISODE`, `RUN` for all of it, an episode file), and programs that work on them."""

import contextlib
import json
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.cli.runs.run_by_name import pick
from mosaic.errors import MosaicError, RecordingError, RunNotFound
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.client import Client
from mosaic.rpc.find_run import counted_back
from mosaic.spec import episode_file
from mosaic.spec.episode_file import EpisodeHead
from mosaic.spec.processes.python_child import PythonChild
from mosaic.spec.run_record import RunRecord

NEWEST_EPISODES = 1000
"""Among these @last is looked for."""


@dataclass(frozen=True)
class Found:
    """One recorded episode, on this machine or the daemon's."""

    name: str
    """How an actor is told to replay it."""
    head: EpisodeHead
    content: bytes

    @property
    def options(self) -> dict[str, Any]:
        """What a session that replays it must be told beside its actors."""
        return {"lockstep": True} if self.head.order == "copies" else {}

    @property
    def actors(self) -> dict[str, str]:
        return dict.fromkeys(self.head.seats, f"replay:{self.name}")

    @property
    def caption(self) -> str:
        return ", ".join(dict.fromkeys(actor.rpartition("/")[2] for actor in self.head.seats.values()))

    def put_into(self, folder: Path, number: int) -> Path:
        """A copy of it there; its name says what it is where an error names the file."""
        path = folder / f"{number:06d}-{self.name.replace('/', '-')[-60:].removesuffix('.jsonl')}.jsonl"
        path.write_bytes(self.content)
        return path


def session(client: Client, word: str, actor: str = "") -> RunRecord:
    """The run that a word means; @last is the newest that recorded an episode, and no replay of one.

    With `actor`, the newest in which it played.
    """
    before = counted_back(word)
    if before is None:
        return pick(client, word)
    played = [
        episode.run_id
        for episode in client.episodes(limit=NEWEST_EPISODES)
        if not any(who.startswith("replay:") for who in episode.seats.values())
        and any(who.startswith(actor) for who in episode.seats.values())
    ]
    newest_first = list(dict.fromkeys(played))
    if len(newest_first) <= before:
        who = f" of {actor}" if actor else ""
        there = f"there are {len(newest_first)}" if played else "there is none yet; 'mosaic play' records some"
        raise RunNotFound(word, hint=f"of the recorded sessions{who}, {there}")
    return client.get(newest_first[before])


def find(client: Client, word: str, number: int | None = None) -> Found:
    """The one episode that a word means; `number` where the word is a run alone."""
    path = Path(word).expanduser()
    if path.is_file():
        return Found(str(path.absolute()), episode_file.read(path).head, path.read_bytes())
    run, slash, last = word.rpartition("/")
    if slash and last.isdecimal():
        word, number = run, int(last)
    return _fetched(client, _listed(client, word, number or 1))


def find_all(client: Client, word: str) -> list[Found]:
    """All that a word means, in the order in which they were played."""
    if Path(word).expanduser().is_file() or word.rpartition("/")[2].isdecimal():
        return [find(client, word)]
    run = session(client, word)
    there = sorted(client.episodes(run.run_id), key=lambda episode: episode.episode)
    if not there:
        raise RecordingError(f"run {run.run_id} recorded no episode; only runs of 'mosaic play' do")
    return [_fetched(client, each) for each in there]


def _listed(client: Client, word: str, number: int) -> pb.RecordedEpisode:
    run = session(client, word)
    there = {episode.episode: episode for episode in client.episodes(run.run_id)}
    if number not in there:
        count = f"it recorded {len(there)}" if there else "it recorded none; only runs of 'mosaic play' do"
        raise RecordingError(f"run {run.run_id} has no episode {number}: {count}")
    return there[number]


def _fetched(client: Client, episode: pb.RecordedEpisode) -> Found:
    content = b"".join(client.read_artifact(episode.run_id, episode.path))
    head = episode_file.decode(content.partition(b"\n")[0], what=f"{episode.run_id}, {episode.path}, line 1")
    if not isinstance(head, EpisodeHead):
        raise RecordingError(
            f"{episode.path} of run {episode.run_id} is not a recorded episode: its first line is not a head"
        )
    return Found(f"{episode.run_id}/{episode.episode}", head, content)


class ExportFailed(MosaicError):
    """The program that makes an export said why it could not."""

    def __init__(self, message: str, code: int) -> None:
        self.exit_code = code
        super().__init__(message)


def run_program(
    module: str, request: dict[str, Any], tell: Callable[[dict[str, Any]], object] = lambda _: None
) -> dict[str, Any]:
    """One of the play worker's programs, which alone may load environments; what its last line says.

    `tell` gets each line before it, at once.
    """
    last = ""
    with (
        tempfile.TemporaryFile("w+") as errors,
        PythonChild(module=module).popen(
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as program,
    ):
        assert program.stdin is not None
        assert program.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # It ended before it had read everything: its code says so.
            program.stdin.write(json.dumps(request))
            program.stdin.close()
        for line in program.stdout:
            # Libraries print there, too.
            if last.startswith("{"):
                tell(json.loads(last))
            last = line
        code = program.wait()
        errors.seek(0)
        said = errors.read().strip().splitlines()
    if code or not last:
        reason = next((line.removeprefix("error: ") for line in said if line.startswith("error: ")), "")
        raise ExportFailed(reason or (said or [f"{module} ended with code {code}"])[-1], code or 1)
    return json.loads(last)
