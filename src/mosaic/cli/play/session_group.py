"""A series: several play sessions that belong together, each a run; what was played is kept and never played again.

Every run of a series names it in its notes and carries the whole request in `metadata.ui.series`, so that any of them
is enough to go on: recorded episodes count, living runs are waited for, and only the missing seeds are played.
"""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mosaic.cli import INTERRUPTED
from mosaic.cli.daemon.connection import BadArguments
from mosaic.cli.runs.follow_to_end import RunFailed, detached, exit_code, follow
from mosaic.cli.runs.run_by_name import pick, short
from mosaic.cli.terminal.printing import note
from mosaic.rpc.client import Client
from mosaic.rpc.find_run import SESSION
from mosaic.spec import episode_file
from mosaic.spec.episode_file import EpisodeHead
from mosaic.spec.play_config import document_of
from mosaic.spec.processes.language_model import secrets_of
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL, RunState


@dataclass(frozen=True, kw_only=True)
class Part:
    """One session: who plays what, from which seeds."""

    key: str
    env_id: str
    actors: Mapping[str, str]
    seeds: Sequence[int]
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Of the environment."""


@dataclass
class Results:
    """What a part has given so far."""

    seats: tuple[str, ...] = ()
    """In the order in which they act."""
    returns: dict[int, dict[str, float]] = field(default_factory=dict[int, dict[str, float]])
    """By seed and seat, of whole episodes."""
    runs: list[str] = field(default_factory=list[str])
    failure: RunRecord | None = None
    """The last run that ended badly, unless everything was played all the same."""


@dataclass(frozen=True)
class SessionGroup:
    """By its id; `request` is what the verb was asked for, with every name resolved."""

    series_id: str
    verb: str
    request: Mapping[str, Any]

    @classmethod
    def new(cls, verb: str, request: Mapping[str, Any]) -> "SessionGroup":
        return cls(uuid.uuid4().hex[:16], verb, request)

    @classmethod
    def of(cls, client: Client, word: str, verb: str) -> "SessionGroup":
        """That of a run."""
        run = pick(client, word, SESSION)
        found = _named(client, run.run_id)
        if found.get("verb") != verb:
            raise BadArguments(f"run {run.run_id} is not part of a 'mosaic {verb}'")
        return cls(found["id"], verb, found["request"])

    def submit(self, client: Client, parts: Sequence[Part]) -> list[RunRecord]:
        """Runs for what is neither played nor being played; those that live already come too."""
        there = self._runs(client)
        going: list[RunRecord] = []
        for part in parts:
            mine = there.get(part.key, [])
            living = [run for run in mine if run.state not in TERMINAL]
            going += living
            done = self._collected(client, mine).returns
            missing = [] if living else [seed for seed in part.seeds if seed not in done]
            if missing:
                going += client.submit(self._document(part, missing))
        return going

    def play(self, client: Client, parts: Sequence[Part]) -> dict[str, Results]:
        """Everything played that can be; by the key of the part."""
        runs = self.submit(client, parts)
        if runs:
            follow(client, runs, tell=note)
        there = self._runs(client)
        return {part.key: self._results(client, part, there.get(part.key, [])) for part in parts}

    def play_or_leave(self, client: Client, parts: Sequence[Part], *, detach: bool) -> dict[str, Results] | int:
        """The results; the exit code if the runs are left to themselves, at once or by Ctrl-C."""
        if detach:
            print("\n".join(run.run_id for run in self.submit(client, parts)))
            return 0
        try:
            return self.play(client, parts)
        except KeyboardInterrupt:
            going = client.list(states=("queued", "starting", "running"), text=self.series_id)
            detached(going)
            if going:
                note(f"  the result: mosaic {self.verb} --resume {short(going[0].run_id)}")
            return INTERRUPTED

    def _document(self, part: Part, seeds: Sequence[int]) -> dict[str, Any]:
        options = {
            **part.options,
            "episodes": len(seeds),
            "seeds": list(seeds),
            "notes": f"part of {self.verb} {self.series_id}",
        }
        document = document_of(part.env_id, dict(part.actors), options, seed=seeds[0], settings=dict(part.settings))
        document["metadata"]["worker"]["config"]["extras"] |= secrets_of(part.actors.values())
        document["run_name"] = f"{self.verb} {part.env_id}, {part.key}"
        about = {"id": self.series_id, "verb": self.verb, "key": part.key, "request": dict(self.request)}
        document["metadata"]["ui"] = {"series": about}
        return document

    def _runs(self, client: Client) -> dict[str, list[RunRecord]]:
        """Oldest first, by the key of their part."""
        found: dict[str, list[RunRecord]] = {}
        for run in reversed(client.list(text=self.series_id)):
            about = _named(client, run.run_id)
            if about.get("id") == self.series_id:
                found.setdefault(about["key"], []).append(run)
        return found

    def _collected(self, client: Client, runs: Sequence[RunRecord]) -> Results:
        results = Results()
        for run in runs:
            results.runs.append(run.run_id)
            for episode in sorted(client.episodes(run.run_id), key=lambda episode: episode.episode):
                if episode.outcome in ("terminated", "truncated") and episode.seed not in results.returns:
                    results.returns[episode.seed] = dict(episode.returns)
                    # A message does not keep the order of the seats, the recording does.
                    results.seats = results.seats or _seats(client, run.run_id, episode.path)
        return results

    def _results(self, client: Client, part: Part, runs: Sequence[RunRecord]) -> Results:
        results = self._collected(client, runs)
        ended_badly = [run for run in runs if run.state is not RunState.FINISHED]
        if ended_badly and len(results.returns) < len(part.seeds):
            results.failure = ended_badly[-1]
        return results


def failures(results: Mapping[str, Results]) -> int:
    """Say what went wrong; the exit code that this means."""
    code = 0
    for key, found in results.items():
        if found.failure is not None:
            note(f"{key}: {RunFailed(found.failure)}")
            code = max(code, exit_code(found.failure))
    return code


def _named(client: Client, run_id: str) -> dict[str, Any]:
    config = client.read_json(run_id, "config.json")
    return config["metadata"].get("ui", {}).get("series", {})


def _seats(client: Client, run_id: str, path: str) -> tuple[str, ...]:
    first = b"".join(client.read_artifact(run_id, path)).partition(b"\n")[0]
    head = episode_file.decode(first, what=path)
    return tuple(head.seats) if isinstance(head, EpisodeHead) else ()
