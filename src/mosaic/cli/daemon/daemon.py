"""`mosaic daemon start|stop|status|logs|run`: the trainer daemon of this home; `status` also of another one."""

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from mosaic.cli.daemon.connection import BadArguments, connect, current, look, parser, refuse_remote
from mosaic.cli.terminal import readable
from mosaic.cli.terminal.printing import note, paint, pairs, print_json
from mosaic.cli.terminal.verb_parser import no_such_verb
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.client import Client
from mosaic.rpc.locate import DaemonUnavailable, ensure_daemon, running_address
from mosaic.spec.processes import secret_keys
from mosaic.spec.processes.python_child import PythonChild
from mosaic.spec.run_dir import Home
from mosaic.spec.states import LIVE

MODULE = "mosaic.trainer"
STOP_TIMEOUT_S = 15.0
FILE_FLAGS = ("--certificate", "--key", "--log-file", "--log_file")
USAGE = """usage: mosaic daemon start [flags]   in the background
       mosaic daemon run [flags]     in the foreground
       mosaic daemon stop            its runs go on
       mosaic daemon status [--json]
       mosaic daemon logs [-f] [--tail N]

The daemon is started by itself when a command needs it. Flags such as --listen HOST:PORT, --cpus and
--certificate: 'mosaic daemon run --help'."""


def main(argv: Sequence[str]) -> int:
    verbs = {"start": start, "run": run, "stop": stop, "status": status, "logs": logs}
    if not argv or argv[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    if argv[0] not in verbs:
        raise no_such_verb("daemon", argv[0], list(verbs))
    return verbs[argv[0]](argv[1:])


def start(flags: Sequence[str]) -> int:
    """In the background; a second start says where the first one is."""
    refuse_remote("daemon start")
    home = Home.resolve()
    if any(flag in ("-h", "--help") for flag in flags):
        return PythonChild(module=MODULE, words=("--help",)).run().returncode
    if running_address(home) is not None:
        with connect() as client:
            note(
                "it runs already; 'mosaic daemon stop' first, to start it with other flags" if flags else "runs already"
            )
            print("\n".join(_facts(client.health())))
        return 0
    with Client(ensure_daemon(home, flags=_with_whole_paths(flags)), home=home) as client:
        print("\n".join(_facts(client.health())))
    return 0


def _with_whole_paths(flags: Sequence[str]) -> list[str]:
    """The same flags: a daemon in the background has another working directory than the user who names a file."""
    made = list(flags)
    for at, word in enumerate(flags):
        name, equals, value = word.partition("=")
        if name not in FILE_FLAGS:
            continue
        if equals:
            made[at] = f"{name}={Path(value).expanduser().absolute()}"
        elif at + 1 < len(flags):
            made[at + 1] = str(Path(flags[at + 1]).expanduser().absolute())
    return made


def run(flags: Sequence[str]) -> int:
    """This process becomes the daemon: its log is on stderr, Ctrl-C ends it."""
    refuse_remote("daemon run")
    PythonChild(module=MODULE, words=tuple(flags), keys=secret_keys.ALL).take_over()


def stop(argv: Sequence[str]) -> int:
    parser("daemon stop", "End the daemon; its runs go on, and the next daemon finds them.").parse_args(argv)
    home = Home.resolve()
    try:
        with look() as client:
            live = sum(number for state, number in client.health().runs.items() if state in LIVE)
            client.shutdown()
    except DaemonUnavailable as error:
        if current().target:
            raise
        print(f"nothing to stop: {error}")
        return 0
    if not current().target:
        wait_for_end(home)
    print(
        "stopped" + (f"; {readable.plural(live, 'run')} {'goes' if live == 1 else 'go'} on without it" if live else "")
    )
    return 0


def wait_for_end(home: Home) -> None:
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while running_address(home) is not None:
        if time.monotonic() > deadline:
            raise DaemonUnavailable(f"the daemon of {home.root} has not ended yet; 'mosaic daemon logs' may say why")
        time.sleep(0.02)


def status(argv: Sequence[str]) -> int:
    flags = parser("daemon status", "The state of the daemon; exit code 6 if none runs.", json=True).parse_args(argv)
    with look() as client:
        health = client.health()
    if flags.json:
        print_json(_as_json(health))
    else:
        print("\n".join(_facts(health)))
    return 0


def _as_json(health: pb.Health) -> dict[str, object]:
    lists = {"gpus": list(health.gpus), "warnings": list(health.warnings), "runs": dict(health.runs)}
    return _fields(health) | lists | {"gpu_loads": [_fields(gpu) for gpu in health.gpu_loads]}


def _fields(message: pb.Health | pb.GpuLoad) -> dict[str, object]:
    return {field.name: getattr(message, field.name) for field in message.DESCRIPTOR.fields}


def _facts(health: pb.Health) -> list[str]:
    runs = ", ".join(f"{number} {state}" for state, number in sorted(health.runs.items()))
    facts = {
        "daemon": f"pid {health.pid}, version {health.version}, up for {readable.duration(health.uptime_s)}",
        "home": health.home,
        "address": health.address,
        "runs": runs or "none",
        "index": readable.indexing(health),
        "CPU slots": f"{health.cpu_slots_used} of {health.cpu_slots} in use",
        "GPUs": ", ".join(health.gpus) or "none",
        "disk": f"{readable.size(health.disk_free_bytes)} free",
        "warm": "a warm worker is ready" if health.warm_workers else "no warm worker is ready",
    }
    return [*pairs(facts), *(paint(f"warning: {warning}", "yellow") for warning in health.warnings)]


def logs(argv: Sequence[str]) -> int:
    words = parser("daemon logs", "The log of the daemon that was started in the background.", json=True)
    words.add_argument("-f", "--follow", action="store_true", help="follow the log until Ctrl-C")
    words.add_argument(
        "--tail", type=int, default=100, metavar="N", help="only the last N lines; 0 is all (default 100)"
    )
    flags = words.parse_args(argv)
    refuse_remote("daemon logs")
    path = Home.resolve().trainer / "daemon.log"
    if not path.exists():
        raise BadArguments(f"there is no {path} yet: no daemon was started in the background here")
    for line in _lines(path, flags.tail, follow=flags.follow):
        print(line if flags.json else _readable(line), flush=flags.follow)
    return 0


def _lines(path: Path, tail: int, *, follow: bool) -> Iterator[str]:
    from mosaic.spec.files.spool_reader import LineReader

    reader = LineReader(path)
    lines = reader.new_lines()
    while True:
        yield from (line.decode(errors="replace") for line in lines[-tail:])
        if not follow:
            return
        time.sleep(0.2)
        lines, tail = reader.new_lines(), 0


def _readable(line: str) -> str:
    try:
        entry: dict[str, object] = json.loads(line)
        head = [str(entry.pop("timestamp"))[:19], str(entry.pop("level")), str(entry.pop("event"))]
    except (ValueError, KeyError, AttributeError):
        return line
    return "  ".join([*head, *(f"{key}={value}" for key, value in entry.items())])
