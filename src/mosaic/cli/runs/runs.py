"""`mosaic runs`: a table of runs, live with --watch."""

import argparse
from collections.abc import Sequence

from mosaic.cli.daemon.connection import connect, parser, place
from mosaic.cli.runs.queue_words import waits
from mosaic.cli.runs.run_by_name import shown_id
from mosaic.cli.runs.run_filters import (
    add_filters,
    add_table_flags,
    check_table_flags,
    is_table_asked,
    kinds_of,
    listed,
    pinned_first,
)
from mosaic.cli.terminal import readable
from mosaic.cli.terminal.printing import Block, clean, is_terminal, note, paint, print_json, table
from mosaic.rpc.client import Client
from mosaic.rpc.find_run import SESSION
from mosaic.spec.run_record import RunRecord, damage_of, is_pinned
from mosaic.spec.states import RunState

LIMIT = 30
MOST_WAITING = 5
"""Queued runs of which it is said what they wait for; `mosaic show RUN` says it of any."""
DAMAGED = "!"
"""Before the label of a run whose files are damaged."""
MARK = "*"
"""Before the label of a pinned run."""
NAMES = ("run", "label", "state", "steps", "done", "return", "started")


def main(argv: Sequence[str]) -> int:
    flags = _flags(argv)
    with connect() as client:
        if flags.watch:
            return _watch(client, flags)
        if is_table_asked(flags):
            # Here, because it brings numpy, which the plain list need not wait for.
            from mosaic.cli.runs import runs_table

            return runs_table.show(client, flags)
        runs = pinned_first(client, flags, listed(client, flags))
        indexing = readable.indexing(client.health())
        left = _left_out(client, flags, runs)
        waiting = waits(client, () if flags.json else runs)
    if indexing:
        note(f"{indexing}; the newest come first, the others follow")
    if flags.json:
        for run in runs:
            print_json(readable.as_json(run))
    elif runs:
        print("\n".join(_table(runs)))
        if is_terminal() and any(map(damage_of, runs)):
            print(paint(f"{DAMAGED} some of its files are damaged; 'mosaic show RUN' tells which", "dim"))
        if is_terminal() and any(map(is_pinned, runs)):
            print(paint(f"{MARK} pinned; 'mosaic pin RUN --remove' lets it go", "dim"))
        if is_terminal():
            print(paint("; ".join([*left, place()]), "dim"))
    elif flags.state or flags.text or flags.kind:
        print("no run matches" + (" so far" if indexing else ""))
    elif not indexing:
        print(f"no runs yet ({place()}); 'mosaic train ppo' makes one")
    if left and not is_terminal():
        note("; ".join(left))
    for run_id, why in list(waiting.items())[:MOST_WAITING]:
        note(f"{shown_id(run_id)} is queued: {why}")
    return 0


def _left_out(client: Client, flags: argparse.Namespace, runs: Sequence[RunRecord]) -> list[str]:
    """What the list does not show, though no flag leaves it out."""
    matching = {"states": flags.state, "text": flags.text}
    said: list[str] = []
    if flags.limit and len(runs) >= flags.limit:
        more = client.count(kinds=kinds_of(flags), **matching) - len(runs)
        said += [f"{more:,} more: --limit 0 lists all"] if more > 0 else []
    if not flags.kind and (sessions := client.count(kinds=SESSION.kinds, **matching)):
        said.append(
            f"{readable.plural(sessions, 'play session')}: --kind play lists {'it' if sessions == 1 else 'them'}"
        )
    return said


def _flags(argv: Sequence[str]) -> argparse.Namespace:
    words = parser("runs", "List runs, newest first.", json=True)
    add_filters(words, limit=LIMIT)
    add_table_flags(words)
    words.add_argument("--watch", action="store_true", help="redraw as the runs change, until Ctrl-C")
    flags = words.parse_args(argv)
    check_table_flags(words, flags)
    return flags


def _watch(client: Client, flags: argparse.Namespace) -> int:
    """On a terminal the table is redrawn; elsewhere each change is a line."""
    known = {
        run.run_id: run for run in reversed(client.list(kinds=kinds_of(flags), text=flags.text, limit=flags.limit))
    }
    block = Block()
    block.live &= not flags.json
    since = max((run.revision for run in known.values()), default=0)

    def draw() -> None:
        shown = [run for run in known.values() if not flags.state or run.state in flags.state]
        newest = sorted(shown, key=lambda run: (is_pinned(run), run.run_id), reverse=True)
        block.draw(_table(newest[: flags.limit or None]))

    draw()
    if not block.live:
        for run in known.values():
            _show_change(run, flags)
    for run in client.watch_runs(after_revision=since):
        if run.deleted:
            known.pop(run.run_id, None)
        elif run.run_id in known or _matches(run, flags):
            known[run.run_id] = run
            if not block.live:
                _show_change(run, flags)
        draw()
    return 0


def _show_change(run: RunRecord, flags: argparse.Namespace) -> None:
    if flags.state and run.state not in flags.state:
        return
    if flags.json:
        print_json(readable.as_json(run))
    else:
        print("  ".join(_row(run)), flush=True)


def _matches(run: RunRecord, flags: argparse.Namespace) -> bool:
    """The daemon's own filter, for runs that appear while we watch."""
    kinds, text = kinds_of(flags), str(flags.text)
    if kinds and run.kind not in kinds:
        return False
    words = (run.run_id, run.label, run.algo, run.env_id, run.group, run.notes, *run.tags)
    return text.lower() in " ".join(words).lower()


def _table(runs: Sequence[RunRecord]) -> list[str]:
    rows = [_row(run) for run in runs]
    lines = table(NAMES, rows, right=("steps", "done", "return"), shrink="label")
    states = [run.state for run in runs]
    return [lines[0], *(_painted(line, state) for line, state in zip(lines[1:], states, strict=True))]


def _painted(line: str, state: RunState) -> str:
    """Colour the state: its column is the only one that can hold the word with two spaces on each side."""
    return line.replace(f"  {state}  ", f"  {paint(state, readable.COLOUR_OF[state])}  ", 1)


def _row(run: RunRecord) -> Sequence[str]:
    done = "" if run.done is None else f"{run.done:.0%}"
    return (
        shown_id(run.run_id),
        "".join([f"{DAMAGED} " if damage_of(run) else "", f"{MARK} " if is_pinned(run) else "", clean(run.label)]),
        run.state,
        readable.count(run.global_step),
        done,
        readable.score(run.last_return),
        readable.when(run.submitted_at),
    )
