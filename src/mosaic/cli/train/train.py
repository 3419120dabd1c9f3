"""`mosaic train ALGO [flags]`: submit a run, or one for each seed, and follow it.

The flags are those of the run (`RunFlags`) and of the algorithm, as the schema that the daemon serves defines them.
`mosaic train ./my_ppo.py` is the same for an algorithm of the user (`algorithm_of`), and
`mosaic train --script FILE [flags] [-- the script's flags]` is the same for a script of the user (`script_words`).
"""

import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge, Le

from mosaic import config
from mosaic.cli.daemon.connection import BadArguments, connect, current, refuse_remote
from mosaic.cli.runs.follow_to_end import follow_and_report
from mosaic.cli.runs.run_by_name import shown_id
from mosaic.cli.terminal import readable
from mosaic.cli.terminal.plain_output import library_colours
from mosaic.cli.terminal.printing import is_terminal, note, print_json, waiting
from mosaic.cli.train import own_environment, preset_words, script_arguments
from mosaic.cli.train.environment_arguments import SETTINGS_HELP, env_id_of, environment_settings_of
from mosaic.cli.train.script_arguments import is_about_script
from mosaic.errors import ConfigError, MissingExtra, Problem, UnknownAlgorithm
from mosaic.near_names import near_names
from mosaic.plain_text import plain
from mosaic.rpc.client import Client, Refused
from mosaic.rpc.dry_run import Validation, known_to_workers_only
from mosaic.scripts import algorithm_file, own_algorithms
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.script import is_script
from mosaic.spec import environment_flags, environment_settings, user_files
from mosaic.spec.catalogue import known_environments
from mosaic.spec.presets.preset import Preset
from mosaic.spec.presets.preset_use import as_ui
from mosaic.spec.run_config import (
    Artifacts,
    Environment,
    Metadata,
    Resources,
    Toggle,
    TrainExtras,
    TrainOptions,
    TrainRunConfig,
    Worker,
    WorkerConfig,
)
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.spec.seat_names import has_several
from mosaic.spec.seed_list import parse_seeds

OUTSIDE = ("env_id", "total_timesteps", "seed")
"""Settings of an algorithm that stand in the worker's config itself, not in `algo_params`."""


@dataclass(frozen=True, kw_only=True)
class RunFlags(TrainOptions):
    """Flags of the run, the same for every algorithm."""

    preset: str = ""
    """Settings under a name, as the defaults of all other flags; 'mosaic presets' lists them."""
    label: str = ""
    """Label of the run; the algorithm, environment and seed if not given."""
    tag: str = ""
    """Tags of the run: --tag paper,baseline, or --tag paper --tag baseline."""
    seeds: str = ""
    """A run for each: 1-5, or 1,2,7."""
    priority: Annotated[int, Ge(-(2**31)), Le(2**31 - 1)] = 0
    """Higher starts earlier."""
    client_key: str = ""
    """Key of this submit: with the same one again no second run is made. Chosen at random by default."""
    cpus: Annotated[int, Ge(1)] = 1
    """CPU cores that the queue reserves, and the threads of the worker."""
    gpus: Annotated[float, Ge(0)] = 0
    """GPUs that the queue reserves; 0.25 lets four runs share one."""
    engine: str = ""
    """What starts the worker, by its name in `mosaic engines`; empty is the daemon's own."""
    tensorboard: bool = True
    """Write TensorBoard files."""
    upload_model: bool = False
    """Publish the policy on the Hugging Face Hub at the end of a run that is followed, as `mosaic publish` does."""
    hf_entity: str = ""
    """With --upload-model: user or organisation of the Hub; that of the login if not given."""
    follow: bool = False
    """Show the progress until the end; so by default on a terminal."""
    detach: bool = False
    """Print the id of the run and return; so by default elsewhere."""
    dry_run: bool = False
    """Try everything in a real worker, train nothing."""
    json: bool = False
    """One JSON object a line."""


def main(argv: Sequence[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        if argv:
            print("usage: mosaic train ALGO [flags]")
            print("       mosaic train ./my_ppo.py [flags]")
            print("       mosaic train --script FILE [flags] [-- the script's own flags]")
            print("       mosaic train --module NAME [flags] [-- the script's own flags]\n")
            print("'mosaic train ALGO --help' shows the flags of an algorithm;")
            print("'mosaic algos' lists the algorithms.")
            return 0
        raise BadArguments("which algorithm? For example: mosaic train ppo --env-id CartPole-v1")
    argv = with_one_tag_flag([algorithm_of(argv[0]), *argv[1:]])
    if is_about_script(argv):
        return _train(*document_of_script(argv))
    argv, environment = environment_flags.take(argv, what=f"mosaic train {argv[0]}")
    if argv[0].startswith("-"):
        raise BadArguments(f"the algorithm comes first: mosaic train ppo {' '.join(argv)}")
    algo, *words = environment_flags.with_reference(argv, own_environment.reference_of)
    with connect() as client:
        settings, flags, preset = parse(client, algo, words)
        env_id, before = settings.env_id, preset.environment.settings if preset else {}
        env_settings = environment_settings_of(client, environment, env_id, what=f"mosaic train {algo}", before=before)
    return _train(document_of(algo, settings, flags, env_settings, preset), flags)


def _train(document: TrainRunConfig, flags: RunFlags) -> int:
    with connect() as client:
        seeds = seeds_of(flags.seeds)
        if flags.dry_run:
            return dry_run(client, document, json=flags.json)
        if untold := known_to_workers_only(document):
            note(f"only a worker can tell what {untold}: trying it before the run is queued")
            _tried(client, document).refuse()
        with waiting("submitting …"):
            runs = client.submit(document, seeds=seeds, priority=flags.priority, client_key=flags.client_key)
        if flags.json:
            for run in runs:
                print_json(readable.as_json(run))
        if flags.follow or (is_terminal() and not flags.detach and not flags.json):
            if not flags.json:
                print("\n".join(f"run {run.run_id}  {run.label}" for run in runs))
            code = follow_and_report(client, runs, json=flags.json)
            return code or _publish(runs, flags)
    if not flags.json:
        print("\n".join(run.run_id for run in runs))
        note(f"follow with: mosaic follow {' '.join(shown_id(run.run_id) for run in runs)}")
    for run in runs if flags.upload_model else ():
        note(f"--upload-model: nothing waits for the end here; then: mosaic publish {' '.join(_repo(run, flags))}")
    return 0


def _publish(runs: Sequence[RunRecord], flags: RunFlags) -> int:
    """As `--upload-model` asks; the exit code."""
    if not flags.upload_model:
        return 0
    from mosaic.cli.evaluation import publish

    as_json = ["--json"] if flags.json else []
    return max(publish.main([*_repo(run, flags), *as_json]) for run in runs)


def _repo(run: RunRecord, flags: RunFlags) -> list[str]:
    return [run.run_id, "--repo", f"{flags.hf_entity}/"] if flags.hf_entity else [run.run_id]


def parse(
    client: Client, algo: str, words: Sequence[str], *, verb: str = "train"
) -> tuple[Any, RunFlags, Preset | None]:
    """The settings of the algorithm, the flags of the run, and the preset of both; --help prints and ends."""
    with waiting("reading the catalogue of algorithms (takes longer the first time) …"):
        known, broken = client.listed_algorithms()
    if algo not in known:
        for one in broken:
            if one.name == algo:
                raise ConfigError([Problem(one.name, one.problem)], what=one.place)
        near = near_names(algo, known)
        raise UnknownAlgorithm(algo, near, hint="" if near else f"there are {', '.join(sorted(known))}")
    prog = f"mosaic {verb} {algo}"
    # Before the flags are read, which takes longer than all of this.
    _refuse_misspelt_environment(client, words, prog=prog)
    settings = config.class_from_schema(known[algo].schema, name=algo)
    own = {field.name for field in fields(settings)}
    if shared := own & {field.name for field in fields(RunFlags)}:
        message = f"has {', '.join(sorted(shared))}, which every run has as a flag already; rename or remove it"
        raise ConfigError([Problem("Args", message)], what=known[algo].place or algo)
    words = translated(words, own)
    preset = preset_words.preset_of(words, algo, known[algo].schema)
    before = preset_words.settings_with(settings, preset), preset_words.options_with(RunFlags, preset)
    summary = f"{known[algo].summary} 'mosaic algos {algo}' tells more. {SETTINGS_HELP}"
    with library_colours():
        parsed, flags = config.from_joined_flags(*before, words, prog=prog, description=plain(summary))
    if flags.follow and flags.detach:
        raise ConfigError([Problem("--follow", "contradicts --detach")], what=prog)
    # The files of another machine are looked for by its worker.
    here = {} if current().target else user_files.absolute(known[algo].schema, config.to_json(parsed), what=prog)
    return replace(parsed, **here), flags, preset


def document_of_script(argv: Sequence[str]) -> tuple[TrainRunConfig, RunFlags]:
    """From `--script FILE [flags] [-- the script's flags]`, or a path in the place of the algorithm."""
    argv, environment = environment_flags.take(argv, what="mosaic train --script")
    if environment:
        raise ConfigError([environment_settings.not_for_scripts()], what="mosaic train --script")
    given = script_arguments.parse(argv)
    prog = "mosaic train --script"
    description = f"Flags of the run; those of {given.script.name} follow behind '--'."
    with library_colours():
        flags = config.from_flags(RunFlags, given.words, prog=prog, description=plain(description))
    if flags.preset:
        raise BadArguments(f"{prog}: --preset is for algorithms; a script's own flags stand behind '--'")
    script_arguments.refuse_unused(vars(flags), vars(RunFlags()), prog=prog)
    return document_of(str(given.script.path), given.settings, flags), flags


def document_of(
    algo: str,
    settings: Any,
    flags: RunFlags,
    env_settings: dict[str, Any] | None = None,
    preset: Preset | None = None,
) -> TrainRunConfig:
    params: dict[str, Any] = {**settings} if isinstance(settings, dict) else config.to_json(settings)
    outside: dict[str, Any] = {name: params.pop(name) for name in OUTSIDE}
    options = {field.name: getattr(flags, field.name) for field in fields(TrainOptions)}
    worker = WorkerConfig(algo=algo, **outside, extras=TrainExtras(**options, algo_params=params))
    return TrainRunConfig(
        run_name=flags.label,
        tags=flags.tag,
        environment=Environment(env_id=worker.env_id, settings=env_settings or {}),
        artifacts=Artifacts(tensorboard=Toggle(enabled=flags.tensorboard), wandb=Toggle(enabled=flags.track_wandb)),
        resources=Resources(cpus=flags.cpus, gpus=flags.gpus, engine=flags.engine),
        metadata=Metadata(ui=as_ui(preset) if preset else {}, worker=Worker(config=worker)),
    )


def seeds_of(text: str) -> list[int]:
    try:
        return parse_seeds(text)
    except ValueError as error:
        raise BadArguments(f"--seeds: {error}") from None


def _refuse_misspelt_environment(client: Client, words: Sequence[str], *, prog: str) -> None:
    """What the daemon would say of it, without the submit."""
    env_id = env_id_of(words)
    if not env_id or ":" in env_id:
        return
    families = client.environments()
    listed = [info.env_id for family in families for info in family.environments]
    if env_id not in listed and not has_several(env_id) and not any(env_id in family.unlisted for family in families):
        said = known_environments.no_such(env_id, known_environments.near(env_id, listed))
        problem = Problem("--env-id", str(said))
        raise ConfigError([problem], what=prog)


def _tried(client: Client, document: TrainRunConfig) -> Validation:
    with waiting("trying it in a worker … (Ctrl-C ends it)") as say:
        return client.validate(document, tell=lambda line: say(f"trying it in a worker: {line}"))


def dry_run(client: Client, document: TrainRunConfig, *, json: bool = False) -> int:
    """Try the config in a real worker; 2 if it would be refused, 3 if something is not installed."""
    found = _tried(client, document)
    if json:
        problems = [{"path": problem.path, "message": problem.message} for problem in found.problems]
        print_json({"ok": found.ok, "summary": found.summary, "problems": problems, "output": found.output})
    elif not found.ok:
        said = [line for line in found.output.strip().splitlines() if line]
        raise Refused("\n".join(said).removeprefix("error: ") or "the dry run failed without a message", found.status)
    else:
        sys.stdout.write(found.output[: found.output.rstrip().rfind("\n") + 1] or found.output)
        print("dry run: ok, nothing was made")
    return 0 if found.ok else MissingExtra.exit_code if found.exit_code == MissingExtra.exit_code else 2


def algorithm_of(word: str) -> str:
    """The name of the algorithm in a file; the word itself if it is not a path of one."""
    if not is_script(word) or word.startswith("-"):
        return word
    # Without '..', so that messages show where it lies.
    path = Path(os.path.abspath(Path(word).expanduser()))  # noqa: PTH100
    read = algorithm_file.read(path)
    if not read.is_meant:
        return word
    refuse_remote("train FILE")
    if problem := own_algorithms.refuse_name(read.name) or read.problem:
        raise ConfigError([Problem(path.name, problem)], what=str(path))
    allowed = Allowed(Home.resolve())
    allowed.real_path(path, verb="algos")
    found = own_algorithms.find(read.name, allowed)
    if found is None:
        message = "is not listed: its name is one of a test or of a part, or it lies too deep in its allowed folder"
        raise ConfigError([Problem(path.name, message)], what=str(path))
    if found.problem:
        raise found.error
    return found.name


def with_one_tag_flag(words: Sequence[str]) -> list[str]:
    """`--tag a --tag b` as `--tag=a,b`: of a flag that stands there twice only the last would count."""
    end = words.index("--") if "--" in words else len(words)
    kept: list[str] = []
    tags: list[str] = []
    left = iter(words[:end])
    for word in left:
        flag, equals, value = word.partition("=")
        if flag != "--tag":
            kept.append(word)
        elif equals or (value := next(left, "")):
            tags.append(value)
        else:
            raise BadArguments("mosaic train: --tag: needs a value, for example --tag paper")
    return [*kept, *([f"--tag={','.join(tags)}"] if tags else []), *words[end:]]


OURS = {"--track": "--track-wandb", "--no-track": "--no-track-wandb", "--exp-name": "--label"}


def translated(words: Sequence[str], own: Collection[str]) -> list[str]:
    """CleanRL's own flags of a run as ours, so that its command lines work with `mosaic train ppo` for the script.

    All but these (`--wandb-project-name`, `--capture-video`, `--save-model`, …) have the same names. `own` are the
    settings of the algorithm, by their names in Python: a flag that it has itself is its own.
    """
    return [_translated(word, words, own) for word in words]


def _translated(word: str, words: Sequence[str], own: Collection[str]) -> str:
    flag, equals, value = word.partition("=")
    theirs = flag.replace("_", "-")
    if theirs not in OURS or theirs[2:].removeprefix("no-").replace("-", "_") in own:
        return word
    if theirs == "--exp-name" and any(one.partition("=")[0] == "--label" for one in words):
        raise BadArguments("--exp-name and --label both name the run; give one of them")
    return OURS[theirs] + equals + value
