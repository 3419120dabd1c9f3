"""A user's own environments: `mosaic envs add|remove|copy|check` (docs/own-environments.md)."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from mosaic.cli.daemon.connection import BadArguments, parser, refuse_remote
from mosaic.cli.terminal.printing import note, print_json
from mosaic.cli.train.environment_arguments import local_settings_of
from mosaic.cli.train.own_code_folders import carried_by, copy_words, folder_of, forbid, refuse_existing, run_or_policy
from mosaic.cli.train.own_environment import absolute
from mosaic.errors import CheckpointError, ConfigError, PolicyError
from mosaic.scripts import own_code_files
from mosaic.scripts.environment_file import Kind
from mosaic.spec import environment_flags, own_code
from mosaic.spec.files import checkpoint_files, source_copy
from mosaic.spec.files.source_copy import SourceCopy
from mosaic.spec.policy_facts import SUFFIX
from mosaic.spec.processes.python_child import PythonChild, own_path
from mosaic.spec.run_dir import Home, RunDir

VERB = own_code_files.VERB
CHECK = "mosaic.envs.own.check_environment"
KINDS: tuple[Kind, ...] = ("environment", "wrapper")
USAGE = """of your own (docs/own-environments.md):
  mosaic envs add DIR                 environments and wrappers of a folder may run
  mosaic envs remove DIR              they may run no more
  mosaic envs check ENV               whether an environment can be trained in, and what to change
  mosaic envs copy RUN|POLICY DIR     the code that a run or a policy was trained in
  mosaic envs wrappers                Gymnasium's wrappers and their arguments, for --wrap
"""


def add(argv: Sequence[str]) -> int:
    folder, allowed, as_json = folder_of(VERB, "add", argv)
    real = allowed.add(folder, verb=VERB)
    inside = {
        kind: [one for one in own_code_files.known(allowed, kind) if one.file.is_relative_to(real)] for kind in KINDS
    }
    if as_json:
        names = {f"{kind}s": [one.name for one in found] for kind, found in inside.items()}
        print_json({"folder": str(real), "allowed": True, **names})
        return 0
    named = [f"{kind}s: {', '.join(one.name for one in found)}" for kind, found in inside.items() if found]
    print(f"{real}: its environments and scripts may run; {'; '.join(named) or 'no environment was recognised yet'}")
    for one in (*inside["environment"], *inside["wrapper"]):
        if one.problem:
            print(f"{one.name} cannot be used: {one.problem}")
    if inside["environment"]:
        note(f"look at one with: mosaic envs check {inside['environment'][0].name}")
    return 0


def remove(argv: Sequence[str]) -> int:
    return forbid(VERB, "environments", argv)


def check(argv: Sequence[str]) -> int:
    """In a process of its own, which runs the code: a file that is typed needs no allowed folder for that."""
    argv, environment = environment_flags.take(argv, what="mosaic envs check")
    words = parser("envs check", "Try an environment, and say what to change.", json=True)
    words.add_argument("env_id", metavar="ENV", help="./my_env.py:MyEnv, or any other environment")
    words.number("--steps", low=1, default=500, metavar="N", help="steps of each test (default 500)")
    flags = words.parse_args(argv)
    refuse_remote("envs check")
    request = {"env_id": absolute(flags.env_id), "steps": flags.steps, "json": bool(flags.json)}
    request |= local_settings_of(environment.with_names(absolute))
    child = PythonChild(
        module=CHECK, words=(json.dumps(request),), variables={"MOSAIC_HOME": str(Home.resolve().root)}, path=own_path()
    )
    return child.run().returncode


def copy(argv: Sequence[str]) -> int:
    flags = copy_words(VERB, "Write the environment that a run or a policy was trained in into a folder.", argv)
    sources = [one for one in _sources_of(flags.what) if flags.version in ("", one.short)]
    if not sources:
        version = f" of version {flags.version}" if flags.version else ""
        raise BadArguments(f"{flags.what} keeps no environment of your own{version}")
    # The newest version of each file.
    written = {name: text for one in sources for name, text in one.texts.items()}
    refuse_existing(flags.folder, written)
    paths = sorted({str(one.write(flags.folder)) for one in sources})
    if flags.json:
        print_json({"files": sorted(written)})
    else:
        print("\n".join(paths))
        note(f"read it, then allow its folder: mosaic envs add {flags.folder}")
    return 0


def _sources_of(word: str) -> list[SourceCopy]:
    run = run_or_policy(word)
    if isinstance(run, Path):
        return _of_policy(run)
    run_dir = RunDir(Path(run.run_dir))
    found: list[SourceCopy] = []
    for step in checkpoint_files.steps(run_dir):
        with suppress(CheckpointError, source_copy.BadSource):
            saved = checkpoint_files.read(run_dir.checkpoint(step)).get("env_sources", {})
            found += own_code.from_json(saved).values()
    for policy in sorted(run_dir.root.glob(f"runs/*/*{SUFFIX}")):
        found += _of_policy(policy)
    return found


def _of_policy(path: Path) -> list[SourceCopy]:
    try:
        return list(own_code.from_json(carried_by(path, "env_sources") or {}).values())
    except (ValueError, ConfigError) as error:
        raise PolicyError(f"{path}: its copy of the code cannot be read: {error}") from error
