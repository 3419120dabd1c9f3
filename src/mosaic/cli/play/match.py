"""`mosaic match ENV --actor A --actor B --games N`: games between two, seats alternated: who wins how often."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mosaic.cli.daemon.connection import BadArguments, connect, parser
from mosaic.cli.play.actor_params import params_of
from mosaic.cli.play.play import resolved
from mosaic.cli.play.session_group import Part, Results, SessionGroup, failures
from mosaic.cli.terminal.printing import note, print_json, table
from mosaic.cli.terminal.readable import plural
from mosaic.cli.terminal.verb_parser import MAX_SEED
from mosaic.cli.train.environment_arguments import SETTINGS_HELP, environment_settings_of
from mosaic.rpc.client import Client
from mosaic.spec import environment_flags
from mosaic.spec.environment_flags import EnvironmentFlags
from mosaic.spec.return_statistics import mean, share
from mosaic.spec.seat_names import has_several

LEGS = ("A first", "B first")
MAX_GAMES = 10_000
SEATS = 2


@dataclass
class Side:
    """How one of the two fared."""

    name: str
    actor: str
    wins: int = 0
    losses: int = 0
    draws: int = 0
    returns: list[float] = field(default_factory=list[float])
    by_seat: dict[str, tuple[int, int, int]] = field(default_factory=dict[str, tuple[int, int, int]])
    """Wins, draws and losses in each seat."""

    def take(self, seat: str, mine: float, other: float) -> None:
        won, lost = mine > other, mine < other
        self.wins += won
        self.losses += lost
        self.draws += not (won or lost)
        self.returns.append(mine)
        wins, draws, losses = self.by_seat.get(seat, (0, 0, 0))
        self.by_seat[seat] = wins + won, draws + (not (won or lost)), losses + lost


def main(argv: Sequence[str]) -> int:
    argv, environment = environment_flags.take(argv, what="mosaic match")
    flags = _flags(argv)
    if flags.resume and environment:
        raise BadArguments("--resume RUN knows the settings of the environment")
    with connect() as client:
        series = (
            SessionGroup.of(client, flags.resume, "match")
            if flags.resume
            else SessionGroup.new("match", _asked(client, flags, environment))
        )
        parts = parts_of(series.request)
        results = series.play_or_leave(client, parts, detach=flags.detach)
        if isinstance(results, int):
            return results
    sides = counted(series.request, results)
    games = len(sides[0].returns)
    code = failures(results)
    if games < series.request["games"]:
        note(f"{games} of {plural(series.request['games'], 'game')} played; --resume RUN plays the rest")
    if flags.json:
        print_json(as_json(series, sides, results))
    elif games:
        show(sides)
    return code


def _flags(argv: Sequence[str]) -> argparse.Namespace:
    words = parser("match", f"Games between two actors, who change seats after each. {SETTINGS_HELP}", json=True)
    words.add_argument("env_id", metavar="ENV", nargs="?", help="a game for two, for example classic/connect_four-v3")
    words.add_argument(
        "--actor",
        action="append",
        metavar="WHO",
        help="give it twice, once for each player; 'mosaic actors' lists them",
    )
    words.add_argument(
        "--param", action="append", metavar="ACTOR.NAME=VALUE", help="a setting of an actor, for example llm.memory=2"
    )
    words.number("--games", low=1, high=MAX_GAMES, default=100, metavar="N", help="games to play (default 100)")
    words.seed("the first two games", high=MAX_SEED - MAX_GAMES)
    words.add_argument("--deterministic", action="store_true", help="policies take the likeliest action")
    words.add_argument("--resume", metavar="RUN", help="go on with the match that this run is a part of")
    words.add_argument("--detach", action="store_true", help="print the ids of the runs and return")
    flags = words.parse_args(argv)
    if flags.resume:
        if flags.env_id or flags.actor:
            words.error("--resume RUN knows environment and actors")
        return flags
    if not flags.env_id:
        words.error("which environment? 'mosaic envs pettingzoo' lists games")
    if len(flags.actor or ()) != SEATS:
        words.error(f"a match is between two: give --actor twice (got {len(flags.actor or ())})")
    if not has_several(flags.env_id) and ":" not in flags.env_id:
        raise BadArguments(
            f"{flags.env_id} is not a game for two; 'mosaic compare' and 'mosaic play --lockstep' compare actors in it"
        )
    return flags


def _asked(client: Client, flags: argparse.Namespace, environment: EnvironmentFlags) -> dict[str, Any]:
    for word in flags.actor:
        if "=" in word.partition(":")[0]:
            raise BadArguments(f"'{word}' names a seat, but the two change seats after each game")
        if word in ("human", "replay"):
            raise BadArguments(f"'{word}' plays no match; 'mosaic play' is for that")
    actors = [resolved(client, word) for word in flags.actor]
    return {
        "env_id": flags.env_id,
        "env_settings": environment_settings_of(client, environment, flags.env_id, what="mosaic match"),
        "actors": actors,
        "actor_params": params_of(flags.param, actors),
        "games": flags.games,
        "seed": flags.seed,
        "deterministic": flags.deterministic,
    }


def parts_of(request: Mapping[str, Any]) -> list[Part]:
    """Two legs: each seed is played twice, once from either seat; an odd game more has A first."""
    one, other = request["actors"]
    games, seed = request["games"], request["seed"]
    options = {name: request[name] for name in ("deterministic", "actor_params")} | {"video_mode": "off"}
    legs = ((LEGS[0], one, other, (games + 1) // 2), (LEGS[1], other, one, games // 2))
    return [
        Part(
            key=key,
            env_id=request["env_id"],
            actors={"1": first, "2": second},
            seeds=range(seed, seed + count),
            options=options,
            # A match that an earlier version began has none.
            settings=request.get("env_settings", {}),
        )
        for key, first, second, count in legs
        if count
    ]


def counted(request: Mapping[str, Any], results: Mapping[str, Results]) -> tuple[Side, Side]:
    sides = Side("A", request["actors"][0]), Side("B", request["actors"][1])
    for key, found in results.items():
        first, second = sides if key == LEGS[0] else reversed(sides)
        for side in sides:
            side.by_seat = {seat: side.by_seat.get(seat, (0, 0, 0)) for seat in found.seats} | side.by_seat
        for _, returns in sorted(found.returns.items()):
            one, other = found.seats
            first.take(one, returns[one], returns[other])
            second.take(other, returns[other], returns[one])
    return sides


def show(sides: Sequence[Side]) -> None:
    rows: list[list[str]] = []
    for side in sides:
        games = len(side.returns)
        rate, got = share(side.wins, games), mean(side.returns)
        seats = ", ".join(f"{seat} {'/'.join(map(str, result))}" for seat, result in side.by_seat.items())
        rows.append(
            [
                side.name,
                side.actor.rpartition("/")[2],
                str(games),
                str(side.wins),
                f"{rate.value:.1%} [{rate.low:.1%}, {rate.high:.1%}]",
                str(side.draws),
                str(side.losses),
                got.text(games, "+.2f"),
                seats,
            ]
        )
    names = (
        "",
        "actor",
        "games",
        "won",
        "win rate [95 %]",
        "drawn",
        "lost",
        "mean return [95 %]",
        "by seat, won/drawn/lost",
    )
    for line in table(names, rows, right=("games", "won", "drawn", "lost"), shrink="actor"):
        print(line)


def as_json(series: SessionGroup, sides: Sequence[Side], results: Mapping[str, Results]) -> dict[str, Any]:
    games = len(sides[0].returns)
    return {
        **series.request,
        "series": series.series_id,
        "runs": [run for found in results.values() for run in found.runs],
        "played": games,
        "draws": sides[0].draws,
        "draw_rate": asdict(share(sides[0].draws, games)) if games else None,
        "sides": [
            {
                "name": side.name,
                "actor": side.actor,
                "wins": side.wins,
                "losses": side.losses,
                "win_rate": asdict(share(side.wins, games)),
                "mean_return": mean(side.returns).as_json(),
                "by_seat": {
                    seat: dict(zip(("wins", "draws", "losses"), result, strict=True))
                    for seat, result in side.by_seat.items()
                },
            }
            for side in sides
            if games
        ],
    }
