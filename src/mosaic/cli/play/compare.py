"""`mosaic compare FILE`: a script of environments, actors and seeds, played unattended and compared."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from mosaic.cli.daemon.connection import connect, parser
from mosaic.cli.play.actor_params import params_of
from mosaic.cli.play.compare_script import Script, environment_flags_of, read, seeds_of
from mosaic.cli.play.play import resolved
from mosaic.cli.play.session_group import Part, Results, SessionGroup, failures
from mosaic.cli.terminal.printing import clean, note, paint, print_json, table
from mosaic.cli.train.environment_arguments import environment_settings_of
from mosaic.errors import ConfigError
from mosaic.rpc.client import Client
from mosaic.spec.actors import split
from mosaic.spec.environment_settings import PREFIX, spoken
from mosaic.spec.return_statistics import Paired, iqm, mean, paired
from mosaic.spec.seat_names import SEAT


def main(argv: Sequence[str]) -> int:
    flags = _flags(argv)
    with connect() as client:
        if flags.resume:
            series = SessionGroup.of(client, flags.resume, "compare")
        else:
            series = SessionGroup.new("compare", _asked(client, read(flags.file), flags.file.absolute()))
        parts = parts_of(series.request)
        results = series.play_or_leave(client, parts, detach=flags.detach)
        if isinstance(results, int):
            return results
    code = failures(results)
    for env_id in series.request["environments"]:
        _show(series, env_id, results, as_json=flags.json)
    if not flags.json:
        note("paired: every actor played the same seeds, so the difference is taken episode by episode")
    return code


def _flags(argv: Sequence[str]) -> argparse.Namespace:
    words = parser("compare", "Play a script of environments, actors and seeds, and compare the actors.", json=True)
    words.add_argument("file", type=Path, nargs="?", metavar="FILE", help="the script, TOML or .json (docs/matches.md)")
    words.add_argument("--resume", metavar="RUN", help="go on with the comparison that this run is a part of")
    words.add_argument("--detach", action="store_true", help="print the ids of the runs and return")
    flags = words.parse_args(argv)
    if bool(flags.file) == bool(flags.resume):
        words.error("give a script file, or --resume RUN")
    return flags


def _asked(client: Client, script: Script, path: Path) -> dict[str, Any]:
    settings = {env_id: _settings(client, script, env_id, what=str(path)) for env_id in script.environments}
    actors = {name: resolved(client, _beside(word, path.parent)) for name, word in script.actors.items()}
    return {
        "environments": script.environments,
        "settings": settings,
        "actors": actors,
        "seeds": seeds_of(script),
        "options": {
            "deterministic": script.deterministic,
            "record_observations": script.record_observations,
            "actor_timeout_s": script.actor_timeout_s,
            "actor_params": _told(script, actors),
        },
    }


def _settings(client: Client, script: Script, env_id: str, *, what: str) -> dict[str, Any]:
    try:
        return environment_settings_of(client, environment_flags_of(script, env_id), env_id, what=what)
    except ConfigError as error:
        places = [replace(one, path=one.path.replace(PREFIX, f"env.{env_id}.")) for one in error.problems]
        raise ConfigError(places, what=what) from None


def _told(script: Script, actors: Mapping[str, str]) -> dict[str, Any]:
    """The settings of actors: what the script says goes before what this terminal's environment does."""
    found: dict[str, Any] = params_of((), actors.values())
    for name, settings in script.actor_params.items():
        found[name] = found.get(name, {}) | settings if isinstance(settings, dict) else settings
    return found


def _beside(word: str, folder: Path) -> str:
    """A file of the script's own folder, if it is one."""
    name, argument = split(word)
    return f"{name}:{folder / argument}" if argument and (folder / argument).exists() else word


def parts_of(request: Mapping[str, Any]) -> list[Part]:
    return [
        Part(
            key=_key(name, env_id),
            env_id=env_id,
            actors={SEAT: word},
            seeds=request["seeds"],
            options={**request["options"], "video_mode": "off"},
            # A comparison of an earlier version has none.
            settings=request.get("settings", {}).get(env_id, {}),
        )
        for env_id in request["environments"]
        for name, word in request["actors"].items()
    ]


def _key(name: str, env_id: str) -> str:
    return f"{name} in {env_id}"


def _show(series: SessionGroup, env_id: str, results: Mapping[str, Results], *, as_json: bool) -> None:
    """Each actor's result, and what it returns more than the first one, episode by episode."""
    found = {name: results[_key(name, env_id)] for name in series.request["actors"]}
    returns = {name: _by_seed(each) for name, each in found.items()}
    first = next(iter(returns))
    pairs = {name: paired(each, returns[first]) if name != first else None for name, each in returns.items()}
    if as_json:
        for name, each in found.items():
            print_json(_object(series, env_id, name, each, returns[name], pairs[name]))
        return
    rows = [_row(name, returns[name], pairs[name]) for name in returns]
    names = ("actor", "episodes", "mean", "IQM [95 %]", f"more than {clean(first)} [95 %]", "better in")
    settings = spoken(series.request.get("settings", {}).get(env_id, {}))
    print(paint(env_id, "bold") + (f" with {settings}" if settings else ""))
    for line in table(names, rows, right=("episodes", "mean"), shrink="actor"):
        print(f"  {line}")


def _by_seed(results: Results) -> dict[int, float]:
    return {seed: returns[SEAT] for seed, returns in results.returns.items()}


def _row(name: str, returns: Mapping[int, float], pair: Paired | None) -> list[str]:
    if not returns:
        return [clean(name), "0", "–", "–", "–", "–"]
    values = list(returns.values())
    more, better = "–", "–"
    if pair is not None:
        more = pair.difference.text(pair.episodes, "+.2f")
        better = f"{pair.better:.0%}"
    interval = iqm(values).text(len(values), ".2f")
    return [clean(name), str(len(values)), f"{mean(values).value:.2f}", interval, more, better]


def _object(
    series: SessionGroup, env_id: str, name: str, found: Results, returns: Mapping[int, float], pair: Paired | None
) -> dict[str, Any]:
    values = list(returns.values())
    return {
        "series": series.series_id,
        "env_id": env_id,
        "name": name,
        "actor": series.request["actors"][name],
        "runs": found.runs,
        "episodes": len(values),
        "returns": {str(seed): value for seed, value in returns.items()},
        "mean": mean(values).as_json() if values else None,
        "iqm": iqm(values).as_json() if values else None,
        "paired": None if pair is None else asdict(pair) | {"difference": pair.difference.as_json()},
    }
