"""`mosaic play ENV --actor WHO [flags]`: a play session, as a run of the daemon; recorded, watched if asked."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any, Literal

from mosaic.cli import INTERRUPTED
from mosaic.cli.daemon.connection import BadArguments, connect, current, parser
from mosaic.cli.evaluation.evaluate import find_policy
from mosaic.cli.play.actor_params import params_of
from mosaic.cli.play.episode_by_name import session
from mosaic.cli.runs.follow_to_end import RunFailed, detached, follow
from mosaic.cli.terminal.printing import is_terminal, note, print_json
from mosaic.cli.train.environment_arguments import SETTINGS_HELP, environment_settings_of
from mosaic.cli.train.own_environment import reference_of
from mosaic.errors import ConfigError
from mosaic.rpc.call_errors import Refused
from mosaic.rpc.client import Client
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.code_gate import SCRIPTED
from mosaic.spec import environment_flags
from mosaic.spec.actors import split
from mosaic.spec.environment_settings import spoken
from mosaic.spec.play_config import document_of
from mosaic.spec.processes.language_model import LANGUAGE_MODEL, secrets_of
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.spec.seat_names import EVERY_SEAT, SEAT, has_several
from mosaic.spec.states import TERMINAL, RunState

SUMMARY = "play_summary.json"
PERSON = "human"
PICTURE_WAIT_S = 20.0


def main(argv: Sequence[str]) -> int:
    argv, environment = environment_flags.take(argv, what="mosaic play")
    flags = _flags(argv)
    flags.env_id = reference_of(flags.env_id)
    with connect() as client:
        settings = environment_settings_of(client, environment, flags.env_id, what="mosaic play")
        several = has_several(flags.env_id)
        actors = actors_of(client, flags.actor, several=several, lockstep=flags.lockstep)
        options = options_of(flags, actors) | {"actor_params": params_of(flags.param, actors.values())}
        document = document_of(flags.env_id, actors, options, seed=flags.seed, settings=settings)
        document["metadata"]["worker"]["config"]["extras"] |= secrets_of(actors.values())
        if flags.label:
            document["run_name"] = flags.label
        [run] = client.submit(document)
        if flags.detach:
            print(run.run_id)
            return 0
        try:
            if PERSON in actors.values():
                from mosaic.cli.play.play_in_terminal import play_in_terminal

                play_in_terminal(client, run)
            elif flags.watch:
                watch(client, run, mode="grid" if flags.lockstep else "single")
            [ended] = follow(client, [run], tell=note)
        except KeyboardInterrupt:
            detached([run])
            return INTERRUPTED
        return report(client, ended, as_json=flags.json)


def _flags(argv: Sequence[str]) -> argparse.Namespace:
    words = parser("play", f"Let actors play in an environment; every episode is recorded. {SETTINGS_HELP}", json=True)
    words.add_argument("env_id", metavar="ENV", help="environment, for example CartPole-v1")
    words.add_argument(
        "--actor",
        action="append",
        metavar="[SEAT=]WHO",
        help="random, policy:RUN, scripted:FILE.py, bdi, llm:MODEL, …; 'mosaic actors' lists them (default random)."
        " With several seats: SEAT=WHO for each, or all in the order of the seats, or one for all seats",
    )
    words.add_argument(
        "--lockstep",
        action="store_true",
        help="each actor plays a copy of the environment of its own, from the same seeds, in step with the others",
    )
    words.add_argument(
        "--param",
        action="append",
        metavar="ACTOR.NAME=VALUE",
        help="a setting of an actor, for example llm.memory=2 or bdi_q.exploration=0.1",
    )
    words.number("--episodes", low=1, default=1, metavar="N", help="episodes to play (default 1)")
    words.seed("the first episode")
    words.speed(default=" (the default)")
    words.add_argument("--deterministic", action="store_true", help="policies take the likeliest action")
    words.add_argument(
        "--watch", action="store_true", help="show it in the terminal; in real time unless --speed is given"
    )
    words.add_argument(
        "--observations",
        choices=("auto", "raw", "pixels"),
        default="auto",
        help="what actors see: raw, or pixels as the algorithms on pictures do (default: as a policy was trained)",
    )
    words.add_argument("--record-observations", action="store_true", help="record whole observations, not only digests")
    words.add_argument("--record-frames", action="store_true", help="film every episode")
    words.add_argument("--label", default="", help="label of the session (optional)")
    words.add_argument("--detach", action="store_true", help="print the id of the run and return")
    flags = words.parse_args(argv)
    if any(word.rpartition("=")[2] == PERSON for word in flags.actor or ()):
        from mosaic.cli.play.play_in_terminal import refuse_pipe

        refuse_pipe()
    if flags.watch and not is_terminal():
        raise BadArguments("'mosaic play --watch' needs a terminal; without --watch it plays and records all the same")
    return flags


def options_of(flags: argparse.Namespace, actors: dict[str, str]) -> dict[str, Any]:
    person = PERSON in actors.values()
    speed = flags.speed if flags.speed is not None else 1.0 if flags.watch or person else 0.0
    return {
        "interactive": person,
        "episodes": flags.episodes,
        "speed": speed,
        "deterministic": flags.deterministic,
        "record_observations": flags.record_observations,
        "record_frames": flags.record_frames,
        "lockstep": flags.lockstep,
        "observations": flags.observations,
    }


def actors_of(
    client: Client, words: Sequence[str] | None, *, several: bool = False, lockstep: bool = False
) -> dict[str, str]:
    """The actor of each seat. Those without a seat take the seats in order; a single one takes all that are left."""
    found: dict[str, str] = {}
    free: list[str] = []
    for word in words or ["random"]:
        seat, equals, who = word.partition("=") if "=" in word.partition(":")[0] else ("", "", word)
        if not equals:
            free.append(resolved(client, who))
        elif seat in found:
            raise BadArguments(f"the seat '{seat}' was given two actors")
        else:
            found[seat] = resolved(client, who)
    if lockstep or (several and len(free) > 1):
        if found and free:
            raise BadArguments("name the seats of all actors, as in --actor player_1=random, or of none")
        return found or {str(number): who for number, who in enumerate(free, start=1)}
    if len(free) > 1 or (free and not several and SEAT in found):
        raise BadArguments(f"the seat '{SEAT}' was given two actors; --lockstep gives each a copy of the environment")
    return found | ({EVERY_SEAT if several else SEAT: free[0]} if free else {})


def resolved(client: Client, word: str) -> str:
    """With the id of the run that a label means, and with paths that mean the same in another folder."""
    name, argument = split(word)
    if name == "policy" and argument:
        return f"policy:{find_policy(client, argument).path}"
    if name == "bdi_q" and argument.startswith("@"):
        return f"{name}:{session(client, argument, name).run_id}"
    if name == SCRIPTED and argument and not current().target:
        return f"{name}:{_own_code(word, Path(argument))}"
    # A model is not a file, whatever lies in this folder.
    if argument and name != LANGUAGE_MODEL and Path(argument).expanduser().exists():
        return f"{name}:{Path(argument).expanduser().absolute()}"
    return word


def _own_code(word: str, file: Path) -> Path:
    """Asked here already, where the answer can be given in the user's own words; the daemon asks again."""
    try:
        path = file.expanduser().absolute()
        if not path.is_file():
            raise BadArguments(f"{word}: there is no file {path}")
        Allowed(Home.resolve()).real_path(path)
    except (RuntimeError, ValueError) as error:
        raise BadArguments(f"{word!r}: {error}") from error
    except ConfigError as error:
        raise BadArguments(f"{word}: {error.problems[0].message}") from error
    return path


def watch(client: Client, run: RunRecord, *, mode: Literal["single", "grid"] = "single") -> None:
    """In the terminal, from the first picture to the end."""
    from mosaic.cli.live.run_frames import frames_of
    from mosaic.cli.live.terminal_pictures import ask
    from mosaic.cli.live.watch import RESET, SHOW_CURSOR, show
    from mosaic.fastlane.viewer_lease import Wishes

    deadline = time.monotonic() + PICTURE_WAIT_S
    while run.state not in TERMINAL and time.monotonic() < deadline:
        if _has_view(client, run):
            break
        time.sleep(0.05)
        run = client.get(run.run_id)
    if run.state in TERMINAL:
        return
    try:
        with frames_of(client, run, Wishes(mode=mode, fps=30, tile_width=320)) as coming:
            show(coming, ask())
    except Refused:
        # A session without pauses may have closed its view before the first picture is asked for.
        if _has_view(client, run):
            raise
    finally:
        print(f"{RESET}{SHOW_CURSOR}")


def _has_view(client: Client, run: RunRecord) -> bool:
    return any(artifact.kind == "fastlane" for artifact in client.artifacts(run.run_id))


def report(client: Client, run: RunRecord, *, as_json: bool) -> int:
    """What came of it."""
    if run.state is not RunState.FINISHED:
        raise RunFailed(run)
    summary = client.read_json(run.run_id, SUMMARY)
    if as_json:
        print_json(summary | {"run_id": run.run_id})
    else:
        for line in lines_of(summary["episodes"]):
            print(line)
        if settings := summary.get("env_settings"):
            note(f"{run.env_id} with {spoken(settings)}")
        note(f"run directory: {run.run_dir}")
    return 0


def lines_of(episodes: Sequence[dict[str, Any]]) -> list[str]:
    """One line for each seat."""
    whole = [episode["returns"] for episode in episodes if episode["outcome"] != "stopped"]
    if not whole:
        return ["no episode came to its end"]
    seats = list(whole[0])
    names = {seat: f"{seat}: " if len(seats) > 1 else "" for seat in seats}
    width = max(map(len, names.values()))
    return [names[seat].ljust(width) + _line([float(returns[seat]) for returns in whole]) for seat in seats]


def _line(returns: Sequence[float]) -> str:
    count = f"{len(returns)} episode{'s' if len(returns) != 1 else ''}"
    spread = f" ± {pstdev(returns):.1f} (min {min(returns):g}, max {max(returns):g})" if len(returns) > 1 else ""
    return f"{count}: return {fmean(returns):.1f}{spread}"
