"""`mosaic alerts [list|add|remove|set|test]`: who is told of what, for all runs, and the alerts that there were."""

import sys
import time
from collections.abc import Sequence
from typing import cast

from mosaic.alerts import desktop
from mosaic.alerts.alert import CAUSES, DESKTOP, Alert, NotTold, causes_of, receivers_of
from mosaic.alerts.alert_journal import AlertJournal, Entry
from mosaic.alerts.alert_settings import AlertSettings, AlertSettingsFile, as_json, changed_settings, check_receivers
from mosaic.alerts.telling import tell
from mosaic.cli.daemon.connection import Parser, parser, refuse_remote
from mosaic.cli.terminal.printing import clean, note, paint, pairs, print_json, say, table, waiting
from mosaic.cli.terminal.verb_parser import BadArguments, no_such_verb
from mosaic.config import to_json
from mosaic.errors import ConfigError, Problem
from mosaic.spec import ulid
from mosaic.spec.run_dir import Home

NEWEST = 20
ACTIONS = ("list", "add", "remove", "set", "test")
WHAT = "mosaic alerts"
COLOURS = {"nan": "red", "collapse": "red", "failure": "red", "no_progress": "yellow", "end": "green"}


def main(argv: Sequence[str]) -> int:
    # Which commands run is decided on the machine that runs them.
    refuse_remote("alerts")
    action, *rest = argv or ("list",)
    if action.startswith("-"):
        action, rest = "list", list(argv)
    if action not in ACTIONS:
        raise no_such_verb("alerts", action, ACTIONS)
    return {"list": _list, "add": _add, "remove": _remove, "set": _set, "test": _test}[action](rest)


def _list(argv: Sequence[str]) -> int:
    words = parser("alerts", "Who is told of what, and the newest alerts. " + _more(), json=True)
    words.add_argument("--run", default="", metavar="ID", help="alerts of one run, by the beginning of its id")
    words.number("--limit", low=0, default=NEWEST, help=f"newest alerts (default {NEWEST}; 0 is all)")
    flags = words.parse_args(argv)
    home = Home.resolve()
    settings, journal = AlertSettingsFile(home).read(), AlertJournal(home)
    journal.refresh()
    entries = [entry for entry in journal.entries.values() if entry.alert.run_id.startswith(flags.run.upper())]
    newest = entries[-flags.limit :] if flags.limit else entries
    if flags.json:
        print_json({"settings": as_json(settings)})
        for entry in newest:
            told = {to: vars(one) for to, one in entry.deliveries.items()}
            print_json({"alert": to_json(entry.alert), "told": told})
        return 0
    for line in _about(settings):
        say(line)
    if newest:
        say("")
    for entry in newest:
        _say_entry(entry)
    return 0


def _more() -> str:
    return f"'{WHAT} add|remove|set|test --help' explain the others."


def _about(settings: AlertSettings) -> list[str]:
    shown = {
        "on": ", ".join(settings.on) or "none",
        "told": ", ".join(("the window", *settings.to)),
        "collapse": f"{settings.collapse:g} of the gained return is lost",
        "no progress": f"no better after {settings.no_progress:g} of the steps, or {settings.stall_s:g} s of silence",
        "desktop": desktop.why_none() or "notifications can be shown",
    }
    rows = [(name, one.kind, clean(one.shown)) for name, one in settings.receivers.items()]
    return [*pairs(shown), *(["", *table(("receiver", "kind", "where"), rows)] if rows else [])]


def _say_entry(entry: Entry) -> None:
    alert = entry.alert
    moment = time.strftime("%Y-%m-%d %H:%M", time.localtime(alert.time))
    say(f"{moment}  {paint(alert.cause, COLOURS.get(alert.cause, ''))}  {clean(alert.title)}  {alert.run_id}")
    say(f"  {clean(alert.text)}")
    told = "; ".join(f"{to}: {clean(one.shown)}" for to, one in entry.deliveries.items())
    if told:
        say(paint(f"  {told}", "dim"))


def _add(argv: Sequence[str]) -> int:
    words = Parser(prog=f"{WHAT} add", allow_abbrev=False, description="Add a receiver, or change it.")
    words.add_argument("name", metavar="NAME", help="name that runs and 'set --to' use for it")
    what = words.add_mutually_exclusive_group(required=True)
    what.add_argument("--webhook", metavar="URL", help="post JSON there; - reads the address from stdin")
    what.add_argument(
        "--command", nargs="...", metavar="PROGRAM", help="start it with these words, the facts as JSON on its stdin"
    )
    flags = words.parse_args(argv)
    file = AlertSettingsFile(Home.resolve())
    if flags.webhook is not None:
        # What is typed stays in the history of the shell; the address often is the key.
        receiver = file.webhook(sys.stdin.readline().strip() if flags.webhook == "-" else flags.webhook)
    elif flags.command:
        receiver = file.command(flags.command)
    else:
        words.error("--command needs a program")
    settings = file.add(flags.name, receiver)
    say(f"{flags.name}: {receiver.kind} {receiver.shown}")
    if flags.name not in settings.to:
        note(f"for all runs: {WHAT} set --to {','.join((*settings.to, flags.name))}; for one: --alert-to {flags.name}")
    note(f"to try it: {WHAT} test {flags.name}")
    return 0


def _remove(argv: Sequence[str]) -> int:
    words = Parser(prog=f"{WHAT} remove", allow_abbrev=False, description="Remove a receiver.")
    words.add_argument("name", metavar="NAME", help="as the list has it")
    flags = words.parse_args(argv)
    if flags.name == DESKTOP:
        raise BadArguments(f"{DESKTOP} is always there; {WHAT} set --to none, or other names, leaves it out")
    AlertSettingsFile(Home.resolve()).remove(flags.name)
    say(f"{flags.name} is no longer told")
    return 0


def _set(argv: Sequence[str]) -> int:
    words = Parser(prog=f"{WHAT} set", allow_abbrev=False, description="What holds for all runs.")
    words.add_argument("--on", metavar="CAUSES", help=f"{','.join(CAUSES)}, or all, or none")
    words.add_argument("--to", metavar="NAMES", help="receivers, or none; the window is always told")
    words.add_argument(
        "--collapse", type=float, metavar="SHARE", help="losing this share of the gained return is a collapse"
    )
    words.add_argument(
        "--no-progress", type=float, metavar="SHARE", help="share of the steps after which the return should have risen"
    )
    words.add_argument(
        "--stall-s", type=float, metavar="SECONDS", help="an alert comes when a running worker is silent for so long"
    )
    words.add_argument("--time-limit-s", type=float, metavar="SECONDS", help="for a server's answer, or a command")
    words.add_argument("--tries", type=int, metavar="N", help="of a webhook that does not answer with success")
    words.add_argument("--retry-s", type=float, metavar="SECONDS", help="between the first two tries")
    flags = words.parse_args(argv)
    given = {name: value for name, value in vars(cast(object, flags)).items() if value is not None}
    if not given:
        words.error("nothing to set")
    try:
        given |= {"on": causes_of(flags.on)} if flags.on is not None else {}
    except ValueError as error:
        raise ConfigError([Problem("--on", str(error))], what=f"{WHAT} set") from error
    given |= {"to": receivers_of(flags.to)} if flags.to is not None else {}
    settings = AlertSettingsFile(Home.resolve()).change(lambda now: changed_settings(now, given))
    for line in _about(settings):
        say(line)
    note("this counts for runs that start from now on, and for whom running ones tell")
    return 0


def _test(argv: Sequence[str]) -> int:
    words = Parser(prog=f"{WHAT} test", allow_abbrev=False, description="Send one for trying, now, from this process.")
    words.add_argument("names", nargs="*", metavar="NAME", help="receivers; by default those that all runs tell")
    flags = words.parse_args(argv)
    home = Home.resolve()
    settings = AlertSettingsFile(home).read()
    names = tuple(flags.names) or settings.to
    if not names:
        raise BadArguments(f"{WHAT} test: no receiver is told of all runs; name one")
    check_receivers(settings, names, what=f"{WHAT} test")
    failures = 0
    for name in names:
        try:
            with waiting(f"telling {name} …"):
                tell(home, settings, name, sample())
        except NotTold as error:
            failures += 1
            say(f"{paint('failed', 'red')}  {name}: {clean(str(error))}")
        else:
            say(f"{paint('told', 'green')}  {name}")
    return 1 if failures else 0


def sample() -> Alert:
    run_id = ulid.new()
    return Alert(
        alert_id=f"{run_id}-test",
        number=0,
        run_id=run_id,
        attempt=1,
        cause="test",
        title="an alert for trying",
        text="sent by 'mosaic alerts test'; no run is concerned",
        time=time.time(),
    )
