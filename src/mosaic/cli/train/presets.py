"""`mosaic presets`: settings under a name, those that ship and the user's own: list, show, diff, save, delete."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from mosaic import config
from mosaic.cli.daemon.connection import BadArguments, Parser, connect, parser
from mosaic.cli.runs.run_by_name import pick
from mosaic.cli.runs.show import config_of
from mosaic.cli.terminal.printing import clean, is_terminal, note, paint, pairs, print_json, table
from mosaic.cli.train import train
from mosaic.cli.train.environment_arguments import environment_settings_of
from mosaic.near_names import did_you_mean
from mosaic.rpc.client import Client
from mosaic.spec import environment_flags
from mosaic.spec.environment_settings import shown, spoken
from mosaic.spec.presets.preset import Preset
from mosaic.spec.presets.preset_files import Listed, Presets, UnknownPreset
from mosaic.spec.presets.preset_of_config import preset_of
from mosaic.spec.run_dir import Home

USAGE = """further commands:
  mosaic presets show PRESET            all of one: settings, where they came from, what it scored
  mosaic presets diff PRESET            its settings beside the algorithm's defaults
  mosaic presets save NAME RUN          keep the settings of a run under a name
  mosaic presets save NAME ALGO [flags] keep flags of 'mosaic train' under a name
  mosaic presets delete PRESET          remove one of your own

PRESET is a name, an algorithm, an environment, or two or three of these words: tuned ppo LunarLander-v3.
'mosaic train ALGO --env-id ENV --preset NAME' trains with one; a flag beats what the preset says."""


def main(argv: Sequence[str]) -> int:
    actions: dict[str, Callable[[Sequence[str]], int]] = {
        "show": _show,
        "diff": _diff,
        "save": _save,
        "delete": _delete,
    }
    if argv and argv[0] in actions:
        return actions[argv[0]](argv[1:])
    words = parser("presets", "List presets: settings of an algorithm in an environment under a name.", json=True)
    words.formatter_class = argparse.RawDescriptionHelpFormatter
    words.epilog = USAGE
    words.add_argument("text", nargs="*", metavar="TEXT", help="parts of a name, an algorithm or an environment")
    flags = words.parse_args(argv)
    every, problems = Presets(Home.resolve()).all()
    found = [one for one in every if all(_contains(one.preset, text) for text in flags.text)]
    if flags.text and not found:
        raise UnknownPreset(_none(" ".join(flags.text), flags.text, every))
    if flags.json:
        for one in found:
            print_json(_as_json(one))
    else:
        rows = [_row(one) for one in found]
        names = ("preset", "algorithm", "environment", "steps", "return (IQM)", "seeds", "default", "whose")
        print("\n".join(table(names, rows, right=("steps", "seeds"))))
        if is_terminal():
            print(paint("'mosaic train ALGO --env-id ENV --preset NAME' trains with one,", "dim"))
            print(paint("'mosaic presets show PRESET' shows one, 'mosaic presets --help' what else there is", "dim"))
    for problem in problems:
        note(paint(clean(problem), "red"))
    return 0


def _row(one: Listed) -> tuple[str, ...]:
    preset, measured = one.preset, one.preset.measured
    steps = preset.settings.get("total_timesteps")
    default = measured.default_iqm if measured else None
    return (
        clean(preset.name),
        clean(preset.algo),
        _environment(preset),
        f"{steps:,}" if isinstance(steps, int) else "",
        measured.short(measured.iqm) if measured else "not measured",
        str(len(measured.seeds)) if measured else "",
        measured.short(default) if measured and default else "",
        "MOSAIC's" if one.is_shipped else "yours",
    )


def _environment(preset: Preset) -> str:
    settings = spoken(preset.environment.settings)
    return clean(f"{preset.env_id} ({settings})" if settings else preset.env_id)


def _show(argv: Sequence[str]) -> int:
    flags = _about_one("presets show", "Everything about a preset.").parse_args(argv)
    one = _chosen(flags.preset)
    preset, measured = one.preset, one.preset.measured
    if flags.json:
        print_json(_as_json(one))
        return 0
    facts = {
        "preset": clean(preset.name),
        "about": clean(preset.about),
        "algorithm": clean(preset.algo),
        "environment": _environment(preset),
        "reference": clean(preset.reference),
        "return": f"{measured.text(measured.iqm)}, {measured.how}" if measured else "not measured",
        "default": measured.text(measured.default_iqm) if measured and measured.default_iqm else "",
        "scores": ", ".join(f"{score:g}" for score in measured.scores) if measured else "",
        "file": str(one.path),
    }
    print("\n".join(pairs(facts)))
    rows = [(name, shown(value), clean(preset.origin.get(name, ""))) for name, value in preset.settings.items()]
    if rows:
        print("\n" + "\n".join(table(("setting", "value", "from"), rows)))
    if preset.options:
        options = {clean(name): clean(shown(value)) for name, value in preset.options.items()}
        print(f"\n{paint('flags of the run', 'bold')}\n" + "\n".join(pairs(options)))
    if preset.left_out:
        print(f"\n{paint('settings of the reference that this preset leaves out', 'bold')}")
        print("\n".join(f"  {clean(line)}" for line in preset.left_out))
    print(f"\n{paint(f'mosaic train {_words(preset)}', 'dim')}")
    return 0


def _diff(argv: Sequence[str]) -> int:
    flags = _about_one("presets diff", "A preset beside the defaults of its algorithm.").parse_args(argv)
    preset = _chosen(flags.preset).preset
    with connect() as client:
        properties = _properties(client, preset.algo)
    gone = "no such setting"
    rows = [
        (clean(name), shown(value), shown(properties[name].get("default")) if name in properties else gone)
        for name, value in preset.settings.items()
    ]
    same = len(properties.keys() - preset.settings.keys() - {"env_id", "seed"})
    if flags.json:
        for name, value in preset.settings.items():
            print_json({"setting": name, "preset": value, "default": properties.get(name, {}).get("default")})
    else:
        print("\n".join(table(("setting", clean(preset.name), "default"), rows)))
        note(f"{same} further settings of {preset.algo} are as by default")
    return 0


def _save(argv: Sequence[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        if argv:
            print("usage: mosaic presets save NAME RUN\n       mosaic presets save NAME ALGO [flags of 'mosaic train']")
            return 0
        raise BadArguments("mosaic presets save: under which name? For example: mosaic presets save quick @last")
    name, *rest = argv
    if name.startswith("-"):
        raise BadArguments(f"mosaic presets save: the name comes first: mosaic presets save quick {' '.join(argv)}")
    if not rest:
        raise BadArguments(f"mosaic presets save {name}: of what? A run, or an algorithm and its flags")
    with connect() as client:
        if len(rest) == 1 and rest[0] not in client.algorithms():
            document = config_of(client, pick(client, rest[0]))
        else:
            document = _document_of_flags(client, rest)
        algo = str(document["metadata"]["worker"]["config"].get("algo", ""))
        known = client.algorithms()
        made = preset_of(document, name, known[algo].schema if algo in known else None)
    path = Presets(Home.resolve()).save(made)
    print(f"preset {clean(made.name)}: {made.algo} in {_environment(made)}, {len(made.settings)} settings ({path})")
    note(f"train with it: mosaic train {_words(made)}")
    return 0


def _document_of_flags(client: Client, words: Sequence[str]) -> dict[str, Any]:
    algo, what = train.algorithm_of(words[0]), "mosaic presets save"
    rest, environment = environment_flags.take(words[1:], what=what)
    settings, flags, preset = train.parse(client, algo, rest, verb="presets save NAME")
    before = preset.environment.settings if preset else {}
    env_settings = environment_settings_of(client, environment, settings.env_id, what=what, before=before)
    document: dict[str, Any] = config.to_json(train.document_of(algo, settings, flags, env_settings))
    document["metadata"]["ui"] = {"seeds": flags.seeds, "priority": flags.priority}
    return document


def _delete(argv: Sequence[str]) -> int:
    flags = _about_one("presets delete", "Remove a preset of your own.", json=False).parse_args(argv)
    one = _chosen(flags.preset)
    Presets(Home.resolve()).delete(one)
    print(f"preset {clean(one.preset.name)} of {one.preset.algo} in {one.preset.env_id} is deleted")
    return 0


def _about_one(verb: str, about: str, *, json: bool = True) -> Parser:
    words = parser(verb, about, json=json)
    words.add_argument("preset", nargs="+", metavar="PRESET", help="its name, algorithm, environment, or several words")
    return words


def _chosen(words: Sequence[str]) -> Listed:
    """The one that all words are about."""
    every, problems = Presets(Home.resolve()).all()
    found = [one for one in every if all(word in one.preset.key for word in words)]
    text = " ".join(words)
    if not found:
        broken = f"; {problems[0]}" if problems else ""
        raise UnknownPreset(_none(text, words, every) + broken)
    if len(found) > 1:
        listed = "\n".join(f"{one.preset.name} {one.preset.algo} {one.preset.env_id}" for one in found)
        raise BadArguments(f"'{text}' may mean {len(found)} presets; add a word:\n{listed}")
    return found[0]


def _none(text: str, words: Sequence[str], every: Sequence[Listed]) -> str:
    known = {part for one in every for part in one.preset.key}
    unknown = next((word for word in words if not any(word in part for part in known)), "")
    advice = did_you_mean(unknown, sorted(known)) if unknown else ""
    return f"there is no preset '{text}'; {advice or chr(39) + 'mosaic presets' + chr(39) + ' lists what there is'}"


def _contains(preset: Preset, text: str) -> bool:
    return any(text.lower() in part.lower() for part in preset.key)


def _properties(client: Client, algo: str) -> dict[str, Any]:
    known = client.algorithms()
    if algo not in known:
        raise BadArguments(f"the algorithm {algo} of this preset is not there; 'mosaic algos' lists what is")
    found: Any = known[algo].schema["properties"]
    return dict(found)


def _words(preset: Preset) -> str:
    name = f"'{preset.name}'" if " " in preset.name else preset.name
    return f"{preset.algo} --env-id {preset.env_id} --preset {name}"


def _as_json(one: Listed) -> dict[str, Any]:
    measured = one.preset.measured
    default = measured.default_iqm if measured else None
    return {
        **config.to_json(one.preset),
        "file": str(one.path),
        "is_shipped": one.is_shipped,
        "iqm": measured.iqm.as_json() if measured else None,
        "default_iqm": default.as_json() if default else None,
    }
