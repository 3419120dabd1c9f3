"""`mosaic sweep ALGO …` begins a sweep; `mosaic sweep show, follow, pause, continue, cancel, resume, export SWEEP`.

The daemon starts its controller, a process of its own: the sweep goes on when this command and its terminal are gone.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mosaic.cli.daemon.connection import BadArguments, connect
from mosaic.cli.daemon.connection import parser as verb_parser
from mosaic.cli.sweeps import sweep_table
from mosaic.cli.sweeps.sweep_by_name import pick_sweep
from mosaic.cli.sweeps.sweep_files import plan_of_file
from mosaic.cli.sweeps.sweep_flags import parser, plan_of_words
from mosaic.cli.terminal.printing import Block, is_terminal, note, print_json, say, waiting
from mosaic.cli.terminal.readable import plural
from mosaic.cli.train.train import algorithm_of
from mosaic.config import to_json
from mosaic.near_names import did_you_mean
from mosaic.rpc.client import Client
from mosaic.sweep import proposals
from mosaic.sweep.sweep_plan import SweepPlan
from mosaic.sweep.sweep_reader import SweepReader
from mosaic.sweep.sweep_state import AT_WORK

LOOK_S = 1.0
USAGE = """usage: mosaic sweep ALGO [flags]              find good settings of an algorithm
       mosaic sweep FILE.yaml [flags]        the same by a W&B sweep, or by a hyperparams file of rl-zoo3
       mosaic sweep show SWEEP               trials, importance, and what fresh seeds confirm
       mosaic sweep follow SWEEP             the same, live
       mosaic sweep pause | continue | cancel SWEEP
       mosaic sweep resume SWEEP             go on with one that was cancelled or failed
       mosaic sweep resume SWEEP --trial N   go on with a trial that was pruned
       mosaic sweep export SWEEP FILE        an Optuna journal, which optuna-dashboard opens

SWEEP is an id, its beginning or end, a label, or @last. 'mosaic sweeps' lists them.
'mosaic sweep ALGO --help' shows all flags of an algorithm."""


def main(argv: Sequence[str]) -> int:
    if argv and argv[0] in VERBS:
        return VERBS[argv[0]](argv[1:])
    if not argv or argv[0] in ("-h", "--help"):
        if argv:
            print(USAGE)
            return 0
        raise BadArguments("which algorithm? For example: mosaic sweep ppo --env-id CartPole-v1 --trials 20")
    if argv[0].startswith("-"):
        raise BadArguments(f"the algorithm comes first: mosaic sweep ppo {' '.join(argv)}")
    return _begin(argv[0], argv[1:])


def _begin(first: str, words: Sequence[str]) -> int:
    if {"-h", "--help"} & set(words):
        print(parser().format_help())
    with connect() as client:
        if Path(first).suffix in (".yaml", ".yml"):
            plan, flags = plan_of_file(client, Path(first), words)
        else:
            algo = algorithm_of(first)
            if algo not in client.algorithms() and (near := did_you_mean(first, VERBS)):
                raise BadArguments(f"'mosaic sweep {first}' is not a command; {near}")
            plan, flags = plan_of_words(client, algo, words)
        proposals.require(plan)
        with waiting("submitting …"):
            sweep = client.submit_sweep(to_json(plan))
        if flags.json:
            print_json(sweep_table.as_json(sweep))
        else:
            say(f"{sweep.sweep_id}" if not is_terminal() else f"sweep {sweep.sweep_id}  {plan.label}".rstrip())
            for line in (_size(plan), *plan.notes):
                note(line)
        if flags.follow or (is_terminal() and not flags.detach and not flags.json):
            return _follow(client, sweep.sweep_id, json=flags.json)
    if not flags.json:
        note(f"show it with: mosaic sweep show {sweep.sweep_id[-8:]}")
    return 0


def _size(plan: SweepPlan) -> str:
    """What is about to be spent."""
    confirm = f", then {plan.confirm_runs} runs to confirm" if plan.confirm_runs else ""
    each = f"{plan.total_timesteps:,} steps a run"
    if plan.trials is None and plan.runs is None:
        return f"trials until {sweep_table.budget_text(plan)}"
    return f"{plural(plan.most_trials, 'trial')} × {plural(plan.seeds_each, 'seed')}{confirm}; {each}"


def _show(argv: Sequence[str]) -> int:
    words = verb_parser("sweep show", "Trials of a sweep, importance, and what fresh seeds confirm.", json=True)
    words.add_argument("sweep", metavar="SWEEP", help="id, its beginning or end, a label, @last")
    about = "trials to list, 0 for all (default 20)"
    words.number("--limit", low=0, default=sweep_table.LIMIT, metavar="N", help=about)
    flags = words.parse_args(argv)
    with connect() as client:
        reader = SweepReader(client, pick_sweep(client, flags.sweep).sweep_id)
        reader.refresh()
    if flags.json:
        print_json(sweep_table.whole_json(reader))
    else:
        print("\n".join(sweep_table.page(reader, limit=flags.limit)))
    return 0


def _follow_verb(argv: Sequence[str]) -> int:
    words = verb_parser("sweep follow", "Show a sweep until its end; Ctrl-C leaves it alone.", json=True)
    words.add_argument("sweep", metavar="SWEEP", help="id, its beginning or end, a label, @last")
    flags = words.parse_args(argv)
    with connect() as client:
        return _follow(client, pick_sweep(client, flags.sweep).sweep_id, json=flags.json)


def _follow(client: Client, sweep_id: str, *, json: bool) -> int:
    """A line for each trial that ends, and the page at the end; 1 if the sweep failed."""
    reader, told, block = SweepReader(client, sweep_id), set[int](), Block()
    block.live &= not json
    while True:
        state = reader.refresh()
        block.clear()
        for trial in state.trials:
            if trial.state != "running" and trial.number not in told:
                told.add(trial.number)
                if not json:
                    say("  ".join(sweep_table.trial_lines_of(trial, state)))
        if reader.summary.phase not in AT_WORK and not reader.summary.asked:
            break
        block.draw([f"{sweep_table.phase_of(reader.summary)}: {plural(len(state.open_runs), 'open run')}"])
        try:
            time.sleep(LOOK_S)
        except KeyboardInterrupt:
            block.clear()
            note(f"the sweep goes on: mosaic sweep follow {sweep_id[-8:]}; mosaic sweep cancel {sweep_id[-8:]} ends it")
            raise
    block.clear()
    if json:
        print_json(sweep_table.whole_json(reader))
    else:
        print("\n".join(["", *sweep_table.page(reader)]))
    return 1 if reader.summary.phase == "failed" else 0


def _control(verb: str, about: str, said: str) -> Callable[[Sequence[str]], int]:
    def main(argv: Sequence[str]) -> int:
        words = verb_parser(f"sweep {verb}", about, json=True)
        words.add_argument("sweep", metavar="SWEEP", help="id, its beginning or end, a label, @last")
        if verb == "resume":
            words.add_argument(
                "--trial", type=int, action="append", default=[], metavar="N", help="a pruned trial; may be repeated"
            )
            words.add_argument("--pruned", action="store_true", help="every pruned trial")
        flags = words.parse_args(argv)
        with connect() as client:
            sweep = pick_sweep(client, flags.sweep)
            trials: list[int] = list(getattr(flags, "trial", []))
            if getattr(flags, "pruned", False):
                state = SweepReader(client, sweep.sweep_id).refresh()
                trials += [trial.number for trial in state.trials if trial.state == "pruned"]
                if not trials:
                    raise BadArguments(f"sweep {sweep.sweep_id} has no pruned trial")
            after = client.control_sweep(sweep.sweep_id, verb, trials=trials)
        if flags.json:
            print_json(sweep_table.as_json(after))
        else:
            print(f"{sweep.sweep_id}  {said}")
        return 0

    return main


def _export(argv: Sequence[str]) -> int:
    from mosaic.sweep.optuna_journal import write_journal

    words = verb_parser("sweep export", "Write a sweep as an Optuna journal: optuna-dashboard FILE opens it.")
    words.add_argument("sweep", metavar="SWEEP", help="id, its beginning or end, a label, @last")
    words.add_argument("file", type=Path, metavar="FILE", help="a file that is not there yet")
    flags = words.parse_args(argv)
    with connect() as client:
        reader = SweepReader(client, pick_sweep(client, flags.sweep).sweep_id)
        count = write_journal(reader.refresh(), flags.file, name=f"sweep {reader.sweep_id}")
    print(f"{plural(count, 'trial')} written to {flags.file}; open it with: optuna-dashboard {flags.file}")
    return 0


VERBS: Mapping[str, Callable[[Sequence[str]], int]] = {
    "show": _show,
    "follow": _follow_verb,
    "pause": _control("pause", "Pause a sweep and its runs.", "is being paused; 'mosaic sweep continue' goes on"),
    "continue": _control("continue", "Continue a paused sweep.", "goes on"),
    "cancel": _control(
        "cancel", "End a sweep; its runs save a checkpoint first.", "is being cancelled; 'mosaic sweep resume' goes on"
    ),
    "resume": _control("resume", "Go on with an ended sweep, or with pruned trials.", "goes on"),
    "export": _export,
}
