"""The verbs that do one thing to runs: `mosaic cancel, pause, continue, resume, delete, label, follow RUN…`.

Every run that is named is tried, and the worst exit code is the command's.
"""

import sys
from collections.abc import Callable, Sequence

from mosaic.cli.daemon.connection import BadArguments, Parser, connect, parser
from mosaic.cli.runs.follow_to_end import follow_and_report
from mosaic.cli.runs.run_by_name import pick, pick_all
from mosaic.cli.terminal import readable
from mosaic.cli.terminal.printing import clean, note, pairs, print_json
from mosaic.cli.terminal.readable import plural
from mosaic.errors import MosaicError
from mosaic.rpc.client import Client
from mosaic.rpc.find_run import TRAINING
from mosaic.rpc.run_operations import RUN_VERBS, Ask, each
from mosaic.scripts.script import is_script
from mosaic.spec.run_record import PINNED, RunRecord
from mosaic.spec.states import TERMINAL

Sentence = Callable[[RunRecord, RunRecord], str]
"""What to say of a run, from what it was before and is after."""


def cancel(argv: Sequence[str]) -> int:
    def unless_ended(client: Client, run: RunRecord) -> RunRecord:
        return run if run.state in TERMINAL else RUN_VERBS["cancel"].ask(client, run)

    def sentence(run: RunRecord, after: RunRecord) -> str:
        if run.state in TERMINAL:
            return f"had already ended as {run.state}; nothing to do"
        return f"{after.state}{_what_follows(after)}"

    return _plain(
        "cancel", "End runs; each saves a checkpoint first, to be resumed from.", argv, sentence, unless_ended
    )


def _what_follows(run: RunRecord) -> str:
    if run.state in TERMINAL:
        return ""
    if run.kind == "policy_eval":
        return ": ends, and keeps the batches that it has"
    return ": saves a checkpoint, then ends" if run.kind == "train" and not is_script(run.algo) else ": is told to end"


def pause(argv: Sequence[str]) -> int:
    about = "Pause runs; a long pause saves a checkpoint, then frees CPU and memory."
    return _plain("pause", about, argv, lambda _, __: "paused; 'mosaic continue' goes on")


def go_on(argv: Sequence[str]) -> int:
    return _plain("continue", "Continue paused runs.", argv, lambda _, after: after.state)


def _plain(verb: str, about: str, argv: Sequence[str], sentence: Sentence, ask: Ask | None = None) -> int:
    """A verb that has no flags of its own."""
    flags = _words(verb, about).parse_args(argv)
    with connect() as client:
        _, code = _told(client, pick_all(client, flags.runs), ask or RUN_VERBS[verb].ask, sentence, json=flags.json)
    return code


def resume(argv: Sequence[str]) -> int:
    words = _words("resume", "Resume ended runs, exactly where a checkpoint left them.")
    words.number(
        "--from-step",
        low=0,
        high=2**64 - 1,
        metavar="N",
        help="step of the checkpoint (without it the newest whole one); if there are newer ones, a new run begins",
    )
    words.add_argument(
        "--discard-newer", action="store_true", help="with --from-step: delete the newer checkpoints, begin no new run"
    )
    words.add_argument("--follow", action="store_true", help="show the progress until the end")
    flags = words.parse_args(argv)
    if flags.discard_newer and flags.from_step is None:
        words.error("--discard-newer needs --from-step: the newest checkpoint has no newer ones")

    def ask(client: Client, run: RunRecord) -> RunRecord:
        return client.resume(run.run_id, from_step=flags.from_step, discard_newer=flags.discard_newer)

    with connect() as client:
        runs = pick_all(client, flags.runs, TRAINING)
        resumed, code = _told(client, runs, ask, _how_it_goes_on, json=flags.json)
        return follow_and_report(client, resumed, json=flags.json) if flags.follow and not code else code


def _how_it_goes_on(run: RunRecord, after: RunRecord) -> str:
    if after.run_id != run.run_id:
        return f"goes on from step {after.parent_step} as the new run {after.run_id}; its newer checkpoints are kept"
    # The rest of the reason says what is special: an earlier checkpoint, because the newest is damaged.
    remarks = after.reason.removeprefix("resumed").removeprefix("; ")
    return f"{after.state}, attempt {run.attempt + 1}" + (f"; {remarks}" if remarks else "")


def delete(argv: Sequence[str]) -> int:
    words = _words("delete", "Remove ended runs and all their files. This cannot be undone.")
    words.add_argument("-y", "--yes", action="store_true", help="delete without asking")
    flags = words.parse_args(argv)
    with connect() as client:
        runs = pick_all(client, flags.runs)
        if not flags.yes and not _agreed(runs):
            note("nothing was deleted")
            return 1
        return _told(client, runs, RUN_VERBS["delete"].ask, lambda _, __: "deleted", json=flags.json)[1]


def _agreed(runs: Sequence[RunRecord]) -> bool:
    if not sys.stdin.isatty():
        raise BadArguments("mosaic delete: there is no terminal to ask on; give --yes to delete without asking")
    for run in runs:
        note(f"  {run.run_id}  {clean(run.label)}  {run.state}  {plural(run.global_step, 'step')}")
    note(f"Delete {plural(len(runs), 'run')} with all files? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def label(argv: Sequence[str]) -> int:
    words = parser("label", "Change the label, the notes or the priority of a run.", json=True, runs="RUN")
    words.add_argument("text", nargs="?", metavar="TEXT", help="new label")
    words.add_argument("--notes", help="new notes")
    words.add_argument("--priority", type=int, help="new priority; matters while the run is queued")
    flags = words.parse_args(argv)
    if flags.text is None and flags.notes is None and flags.priority is None:
        words.error("give a new label, --notes or --priority")
    with connect() as client:
        run = pick(client, flags.run)
        run = client.set_label(run.run_id, label=flags.text, notes=flags.notes, priority=flags.priority)
    if flags.json:
        print_json(readable.as_json(run))
    else:
        shown = {"run": run.run_id, "label": clean(run.label), "notes": clean(run.notes), "priority": str(run.priority)}
        print("\n".join(pairs(shown)))
    return 0


def tag(argv: Sequence[str]) -> int:
    words = parser("tag", "Put tags on runs, or take them off; without tags, say which they have.", json=True)
    words.add_argument("run", metavar="RUN", nargs="?", help="id, its beginning or end, a label, @last or @last-1")
    words.add_argument("tags", nargs="*", metavar="TAG", help="words to put on it")
    words.add_argument("--remove", action="append", default=[], metavar="TAG", help="take this off; may be repeated")
    words.add_argument("--filter", metavar="EXPR", help="all runs that fit, in the place of RUN (see 'mosaic runs')")
    flags = words.parse_args(argv)
    if flags.filter is not None and flags.run:
        flags.tags, flags.run = [flags.run, *flags.tags], None
    if flags.filter is None and flags.run is None:
        words.error("RUN is missing; give a run or --filter EXPR")
    with connect() as client:
        runs = [pick(client, flags.run)] if flags.run else _fitting(client, flags.filter or "")
        if not runs:
            note("no run matches")
            return 0
        if not flags.tags and not flags.remove:
            for run in runs:
                print_json(readable.as_json(run)) if flags.json else print(f"{run.run_id}  {_tags(run)}")
            return 0

        def ask(client: Client, run: RunRecord) -> RunRecord:
            return client.set_label(run.run_id, add_tags=flags.tags, remove_tags=flags.remove)

        return _told(client, runs, ask, lambda _, after: _tags(after), json=flags.json)[1]


def pin(argv: Sequence[str]) -> int:
    words = _words("pin", "Keep runs at the top of lists, in window and terminal: they get the tag 'pinned'.")
    words.add_argument("--remove", action="store_true", help="let them go back to their places")
    flags = words.parse_args(argv)

    def ask(client: Client, run: RunRecord) -> RunRecord:
        add, remove = ((), [PINNED]) if flags.remove else ([PINNED], ())
        return client.set_label(run.run_id, add_tags=add, remove_tags=remove)

    with connect() as client:
        said = "is no longer pinned" if flags.remove else "is pinned"
        return _told(client, pick_all(client, flags.runs), ask, lambda _, __: said, json=flags.json)[1]


def _fitting(client: Client, text: str) -> list[RunRecord]:
    # Here, because it brings numpy, which the other verbs need not wait for.
    from mosaic.cli.runs import runs_table

    return runs_table.matching(client, text)


def _tags(run: RunRecord) -> str:
    return clean(" ".join(run.tags)) or "no tags"


def follow(argv: Sequence[str]) -> int:
    flags = _words("follow", "Show the progress of runs until they end; Ctrl-C leaves them alone.").parse_args(argv)
    with connect() as client:
        return follow_and_report(client, pick_all(client, flags.runs), json=flags.json)


def _words(verb: str, about: str) -> Parser:
    return parser(verb, about, json=True, runs="RUN…")


def _told(
    client: Client, runs: Sequence[RunRecord], ask: Ask, sentence: Sentence, *, json: bool
) -> tuple[list[RunRecord], int]:
    """The runs with which it worked, as they are afterwards, and the exit code."""
    done: list[RunRecord] = []
    worst = 0
    for run, after in each(client, runs, ask):
        if isinstance(after, MosaicError):
            note(f"error: {after.sentence}")
            worst = max(worst, after.exit_code)
            continue
        done.append(after)
        if json:
            print_json(readable.as_json(after))
        else:
            print(f"{run.run_id}  {sentence(run, after)}")
    return done, worst
