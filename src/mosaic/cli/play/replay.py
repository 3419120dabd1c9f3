"""`mosaic replay RUN/EPISODE`: make a recorded episode again from its seed and actions, and compare, or film it."""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mosaic.cli import INTERRUPTED
from mosaic.cli.daemon.connection import BadArguments, connect, parser
from mosaic.cli.play.episode_by_name import Found, find, run_program
from mosaic.cli.play.play import SUMMARY, watch
from mosaic.cli.runs.follow_to_end import RunFailed, detached, follow
from mosaic.cli.terminal.printing import is_terminal, note, paint, print_json, waiting
from mosaic.rpc.client import Client
from mosaic.spec.play_config import document_of
from mosaic.spec.states import RunState

DIFFERS = 1
FILMING = "mosaic.play.export.filming"


def main(argv: Sequence[str]) -> int:
    flags = _flags(argv)
    with connect() as client:
        found = find(client, flags.what, flags.episode)
        if flags.video is None:
            return _replayed(client, found, flags)
        others = [find(client, word) for word in flags.side_by_side or ()]
    return _filmed([found, *others], flags)


def _flags(argv: Sequence[str]) -> argparse.Namespace:
    words = parser("replay", "Make a recorded episode again and say whether it is the same, or film it.", json=True)
    words.add_argument("what", metavar="RUN[/EPISODE]|FILE", help="an episode of a run of play, or an episode file")
    words.add_argument("--episode", type=int, metavar="N", help="which episode of the run (default 1)")
    words.speed()
    words.add_argument("--watch", action="store_true", help="show it in the terminal")
    words.add_argument(
        "--video", type=Path, metavar="OUT", help="film it: OUT.mp4 or OUT.gif; --speed 0.5 is half as fast"
    )
    words.add_argument(
        "--side-by-side", action="append", metavar="OTHER", help="with --video: another episode beside it; repeatable"
    )
    flags = words.parse_args(argv)
    if flags.watch and not is_terminal():
        raise BadArguments("'mosaic replay --watch' needs a terminal; without --watch it replays and compares")
    if flags.side_by_side and flags.video is None:
        raise BadArguments("--side-by-side is for --video OUT.mp4 or OUT.gif")
    if flags.video is not None:
        _check_video(flags)
    return flags


def _check_video(flags: argparse.Namespace) -> None:
    out: Path = flags.video
    if out.suffix.lower() not in (".mp4", ".gif"):
        raise BadArguments(f"'{out}' ends in neither .mp4 nor .gif")
    if not out.absolute().parent.is_dir():
        raise BadArguments(f"{out.absolute().parent} is not a folder; make it first")
    if flags.speed == 0:
        raise BadArguments("a video has a speed: give --speed more than 0, or leave it out for real time")
    if flags.watch:
        raise BadArguments("--watch and --video are two things: choose one")


def _replayed(client: Client, found: Found, flags: argparse.Namespace) -> int:
    speed = flags.speed if flags.speed is not None else 1.0 if flags.watch else 0.0
    options = {"episodes": 1, "speed": speed, **found.options}
    [run] = client.submit(document_of(found.head.env_id, found.actors, options, seed=0))
    try:
        if flags.watch:
            watch(client, run, mode="grid" if found.head.order == "copies" else "single")
        [ended] = follow(client, [run], tell=note)
    except KeyboardInterrupt:
        detached([run])
        return INTERRUPTED
    if ended.state is not RunState.FINISHED:
        raise RunFailed(ended)
    verdict = client.read_json(run.run_id, SUMMARY)["replay"]
    if flags.json:
        print_json(verdict | {"run_id": run.run_id})
    elif verdict["exact"]:
        print(paint(f"the same: {verdict['length']} steps, bit for bit", "green"))
    else:
        print(paint(f"not the same: {verdict['difference']}", "yellow"))
    return 0 if verdict["exact"] else DIFFERS


def _progress(done: dict[str, Any]) -> str:
    return f"filming … {done['frame']} of about {done['of']} pictures"


def _filmed(found: Sequence[Found], flags: argparse.Namespace) -> int:
    """A replay that differs is filmed all the same, and said to differ."""
    out = flags.video.absolute()
    with tempfile.TemporaryDirectory(prefix="mosaic-film-") as folder:
        paths = [str(each.put_into(Path(folder), at)) for at, each in enumerate(found, start=1)]
        request = {
            "episodes": paths,
            "captions": [each.caption for each in found],
            "out": str(out),
            "speed": flags.speed or 1.0,
        }
        with waiting("filming …") as say:
            # For the window, which shows the last line of stderr.
            tell = note if flags.json and not is_terminal() else say
            made = run_program(FILMING, request, lambda done: tell(_progress(done)))
    differences = [f"{each.name}: {what}" for each, what in zip(found, made["differences"], strict=True) if what]
    if flags.json:
        print_json({"out": str(out), **made, "episodes": [each.name for each in found]})
    else:
        print(f"{flags.video}: {made['seconds']:g} s, {made['frames']} frames")
        for line in differences:
            note(f"this is not quite what was recorded: {line}")
    return DIFFERS if differences else 0
