"""Following runs until they end: redrawn lines on a terminal, now and then a line elsewhere."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from mosaic.cli import INTERRUPTED
from mosaic.cli.runs.progress_line import line_of, summary_of
from mosaic.cli.runs.run_by_name import short, shown_id
from mosaic.cli.terminal import readable
from mosaic.cli.terminal.printing import Block, clean, columns, note, paint, print_json, say
from mosaic.cli.terminal.readable import plural
from mosaic.errors import HomeVanished, MosaicError
from mosaic.rpc.client import Client
from mosaic.rpc.locate import DaemonUnavailable, why_gone
from mosaic.spec.events import Warned
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL, RunState

PLAIN_LINE_S = 2.0
DAEMON_BACK_S = 10.0
"""How long a daemon that went away may take to come back before following gives up; its runs go on meanwhile."""
OWN_WORD = "error: "
"""What a worker's command line begins its last message with."""
WORKER_CODES = (2, 3, 4)
"""Exit codes of a worker that mean the same here: bad input, missing extra, home or disk."""


def changes(client: Client, runs: Sequence[RunRecord]) -> Iterator[RunRecord]:
    """Every change of these runs, beginning with how they are now; rides out a daemon that is started anew."""
    wanted = {run.run_id for run in runs}
    last = min((run.revision for run in runs), default=1) - 1
    lost_at: float | None = None
    while True:
        try:
            for run in client.watch_runs(after_revision=last):
                lost_at, last = None, run.revision
                if run.run_id in wanted:
                    yield run
            # A daemon that ends closes the stream; its successor may count revisions from anew.
            raise DaemonUnavailable("the daemon has ended; the runs go on without it. 'mosaic follow' looks again")
        except DaemonUnavailable as gone:
            now = time.monotonic()
            lost_at = lost_at or now
            if now - lost_at > DAEMON_BACK_S:
                why = why_gone(client.home) if client.is_of_home else None
                raise (why if isinstance(why, HomeVanished) else gone) from None
            last = 0
            time.sleep(0.2)


def follow(
    client: Client,
    runs: Sequence[RunRecord],
    *,
    json: bool = False,
    tell: Callable[[str], None] = say,
) -> list[RunRecord]:
    """Show these runs until all have ended; they come back as they ended. `tell` is how, where there is no terminal."""
    now = {run.run_id: run for run in runs}
    names = names_of(runs)
    block, next_plain = Block(), time.monotonic() + PLAIN_LINE_S
    if json:
        block.live = False

    def draw() -> None:
        block.draw([line_of(run, columns() - 1, names[run.run_id]) for run in now.values()])

    try:
        draw()
        if place := queue_place(client, runs):
            block.clear()
            note(place)
            draw()
        for run in changes(client, runs):
            if run.deleted:
                run = replace(run, state=RunState.LOST, reason="it was deleted")
            now[run.run_id] = run
            draw()
            if json:
                print_json(readable.as_json(run))
            if all(each.state in TERMINAL for each in now.values()):
                break  # How they ended is said once, below.
            if not json and not block.live and time.monotonic() >= next_plain:
                next_plain = time.monotonic() + PLAIN_LINE_S
                for each in now.values():
                    tell(line_of(each, 200, names[each.run_id]))
    finally:
        block.clear()
    if not json:
        for run in now.values():
            tell_warnings(client, run, names[run.run_id])
    return list(now.values())


def tell_warnings(client: Client, run: RunRecord, name: str) -> None:
    """What an ended run has warned of, once each."""
    if run.deleted:
        return
    events = client.watch_events(run.run_id, kinds=[Warned.kind])
    messages = dict.fromkeys(event.body.message for event in events if isinstance(event.body, Warned))
    for message in messages:
        note(f"{name}  warning: {clean(message)}" if name else f"warning: {clean(message)}")


def follow_and_report(client: Client, runs: Sequence[RunRecord], *, json: bool = False) -> int:
    """The exit code of a command that follows; Ctrl-C leaves the runs alone."""
    try:
        ended = follow(client, runs, json=json)
    except KeyboardInterrupt:
        detached(runs)
        return INTERRUPTED
    if not json:
        report(ended)
    return max(exit_code(run) for run in ended)


def report(runs: Sequence[RunRecord]) -> None:
    names = names_of(runs)
    for run in runs:
        name = f"{names[run.run_id]}  " if names[run.run_id] else ""
        print(name + paint(summary_of(run), readable.COLOUR_OF[run.state]))
        if run.state in (RunState.FAILED, RunState.LOST):
            for line in said_beside(run):
                print(f"  {clean(line)}")
            print(f"'mosaic logs {shown_id(run.run_id)} --stderr' shows all that it said")


def said_beside(run: RunRecord) -> list[str]:
    """The last lines of what it said, without the message that its reason is already."""
    lines = list(run.stderr_tail)
    starts = [at for at, line in enumerate(lines) if line.startswith(OWN_WORD)]
    if not starts:
        return lines
    at = end = starts[-1]
    while end < len(lines) and lines[end].removeprefix(OWN_WORD).strip() in run.reason:
        end += 1
    return lines[:at] + lines[end:]


def detached(runs: Sequence[RunRecord]) -> None:
    """What to say when the user stops following."""
    ids = " ".join(short(run.run_id) for run in runs)
    goes = "the run goes on" if len(runs) == 1 else f"the {len(runs)} runs go on"
    note(f"\ndetached: {goes}\n  look again: mosaic follow {ids}\n  end:        mosaic cancel {ids}")


def names_of(runs: Sequence[RunRecord]) -> dict[str, str]:
    """What tells runs on neighbouring lines apart: nothing for one, the seed for a group, else the label."""
    if len(runs) == 1:
        return {runs[0].run_id: ""}
    same_group = runs[0].group and all(run.group == runs[0].group for run in runs)
    labels = [f"seed {run.seed}" if same_group else f"{shown_id(run.run_id)} {clean(run.label)}"[:48] for run in runs]
    width = max(map(len, labels))
    return {run.run_id: label.ljust(width) for run, label in zip(runs, labels, strict=True)}


def exit_code(run: RunRecord) -> int:
    if run.state is RunState.FINISHED:
        return 0
    return run.exit_code if run.state is RunState.FAILED and run.exit_code in WORKER_CODES else 1


class RunFailed(MosaicError):
    """A run that the command needed ended badly."""

    def __init__(self, run: RunRecord) -> None:
        lines = [f"run {run.run_id} {summary_of(run)}", *(f"  {clean(line)}" for line in said_beside(run))]
        super().__init__("\n".join(lines))
        self.exit_code = exit_code(run)


START_S = 0.6
"""A run for which there is room has left the queue by then."""
LOOK_S = 0.1


def queue_place(client: Client, runs: Sequence[RunRecord]) -> str:
    """What to say of those that are still queued after a moment; empty if none is."""
    deadline = time.monotonic() + START_S
    waiting = [run for run in runs if run.state is RunState.QUEUED]
    while waiting and time.monotonic() < deadline:
        time.sleep(LOOK_S)
        waiting = [run for run in map(client.get, [run.run_id for run in waiting]) if run.state is RunState.QUEUED]
    if not waiting:
        return ""
    queue = client.list(states=(RunState.QUEUED,))
    order = [run.run_id for run in sorted(queue, key=lambda run: (-run.priority, run.run_id))]
    places = [order.index(run.run_id) + 1 for run in waiting if run.run_id in order]
    return _sentence(client, waiting, places, len(order)) if places else ""


def _sentence(client: Client, waiting: Sequence[RunRecord], places: Sequence[int], length: int) -> str:
    health = client.health()
    who = "queued" if len(waiting) == 1 else f"{plural(len(waiting), 'run')} are queued"
    where = f"number {min(places)} of {length} in the queue" if length > 1 else "first in the queue"
    full = f"{health.cpu_slots_used} of {plural(health.cpu_slots, 'CPU slot')} in use"
    return f"{who}: {where}; {full} ('mosaic runs --state running --kind all' lists by what)"
