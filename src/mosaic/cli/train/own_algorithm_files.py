"""A user's own algorithms: `mosaic algos new|add|remove|copy` (docs/own-algorithms.md)."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from mosaic.cli.daemon.connection import BadArguments, parser, refuse_remote
from mosaic.cli.terminal.printing import note, print_json
from mosaic.cli.train import algorithm_template
from mosaic.cli.train.own_code_folders import carried_by, copy_words, folder_of, forbid, refuse_existing, run_or_policy
from mosaic.errors import CheckpointError, ConfigError, PolicyError, Problem
from mosaic.scripts import own_algorithms
from mosaic.scripts.allowed_folders import Allowed
from mosaic.spec.files import checkpoint_files, source_copy
from mosaic.spec.files.shared_files import write_atomically
from mosaic.spec.files.source_copy import SourceCopy
from mosaic.spec.run_dir import Home, RunDir

USAGE = """of your own (docs/own-algorithms.md):
  mosaic algos new NAME --from ALGO   a copy of an algorithm in this folder, with its test
  mosaic algos add DIR                algorithms and scripts of a folder may run
  mosaic algos remove DIR             they may run no more
  mosaic algos copy RUN|POLICY DIR    the code that a run or a policy was trained by
"""


def new(argv: Sequence[str]) -> int:
    words = parser("algos new", "Write a copy of an algorithm that runs at once, with its test.", json=True)
    words.add_argument("name", metavar="NAME", help="name of the new one: letters, digits and _")
    words.add_argument("--from", dest="base", required=True, metavar="ALGO", help="the algorithm to begin with")
    words.add_argument("--into", type=Path, default=Path(), metavar="DIR", help="its folder (default: this one)")
    flags = words.parse_args(argv)
    refuse_remote("algos new")
    name = str(flags.name).removesuffix(".py")
    what = f"mosaic algos new {name}"
    if problem := own_algorithms.refuse_name(name):
        raise ConfigError([Problem(name, problem)], what=what)
    if flags.base not in own_algorithms.built_in():
        listed = ", ".join(sorted(own_algorithms.built_in()))
        raise ConfigError([Problem("--from", f"'{flags.base}' is not one of {listed}")], what=what)
    folder = Path(flags.into).expanduser().absolute()
    allowed = Allowed(Home.resolve())
    if (known := own_algorithms.find(name, allowed)) is not None:
        raise ConfigError([Problem(name, f"is there already: {known.place}")], what=what)
    written = {f"{name}.py": algorithm_template.source(name, flags.base)}
    written[f"test_{name}.py"] = algorithm_template.test(name, flags.base)
    for file in written:
        if (folder / file).exists():
            raise ConfigError([Problem(file, f"is there already, in {folder}")], what=what)
    folder.mkdir(parents=True, exist_ok=True)
    # A user who writes an algorithm here wants it to run.
    real = allowed.add(folder, verb="algos")
    for file, text in written.items():
        write_atomically(folder / file, text)
    if flags.json:
        print_json({"name": name, "file": str(folder / f"{name}.py"), "folder": str(real)})
        return 0
    shown = folder / f"{name}.py"
    print(f"{shown}: a copy of {flags.base}; its test is test_{name}.py beside it")
    print(f"{real}: its algorithms and scripts may run")
    note(f"train it with: mosaic train {name}")
    return 0


def add(argv: Sequence[str]) -> int:
    folder, allowed, as_json = folder_of("algos", "add", argv)
    real = allowed.add(folder, verb="algos")
    inside = [one for one in own_algorithms.known(allowed) if one.file is not None and one.file.is_relative_to(real)]
    if as_json:
        print_json({"folder": str(real), "allowed": True, "algorithms": [one.name for one in inside]})
        return 0
    names = ", ".join(one.name for one in inside if not one.problem) or "none yet"
    print(f"{real}: its algorithms and scripts may run; algorithms: {names}")
    for one in inside:
        if one.problem:
            print(f"{one.name} cannot be used: {one.problem} ({one.place})")
    return 0


def remove(argv: Sequence[str]) -> int:
    return forbid("algos", "algorithms", argv)


def copy(argv: Sequence[str]) -> int:
    flags = copy_words("algos", "Write the code that a run or a policy was trained by into a folder.", argv)
    source = _source_of(flags.what, flags.version)
    refuse_existing(flags.folder, source.texts)
    path = source.write(flags.folder)
    if flags.json:
        print_json({"file": str(path), "files": sorted(source.texts)})
    else:
        print(path)
        is_code = path.suffix == ".py"
        allow = f"read it, then allow its folder: mosaic algos add {flags.folder}"
        note(allow if is_code else f"--plans {path} uses it")
    return 0


def _source_of(word: str, version: str) -> SourceCopy:
    run = run_or_policy(word)
    if isinstance(run, Path):
        return _of_policy(run)
    run_dir = RunDir(Path(run.run_dir))
    found = {copy.short: copy for copy in (*_of_checkpoints(run_dir), *_kept(run_dir, f"{run.algo}.py"))}
    if not found:
        raise BadArguments(
            f"run {run.run_id} keeps no code: it was trained by {run.algo or 'no algorithm'}, not by your own"
        )
    if version and version not in found:
        raise BadArguments(f"run {run.run_id} keeps no version {version} of its code; there are {', '.join(found)}")
    return found[version] if version else list(found.values())[-1]


def _kept(run_dir: RunDir, file: str) -> Iterator[SourceCopy]:
    """Copies in `source/`, the newest last: a resumed run may have been trained by several versions."""
    folders = [folder for folder in run_dir.source.glob("*") if folder.is_dir() and not folder.is_symlink()]
    for folder in sorted(folders, key=lambda folder: folder.stat().st_mtime):
        texts = {path.relative_to(folder).as_posix(): _text(path) for path in sorted(folder.rglob("*.py"))}
        if file in texts:
            yield SourceCopy(file, texts)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        # MOSAIC writes UTF-8 there: it was changed or damaged.
        raise BadArguments(f"{path} cannot be copied: {error}; look at it where it is") from error


def _of_checkpoints(run_dir: RunDir) -> Iterator[SourceCopy]:
    """What a run that was branched off another one begins with lies in its checkpoint only."""
    for step in checkpoint_files.steps(run_dir):
        with suppress(CheckpointError, source_copy.BadSource):
            yield source_copy.from_json(checkpoint_files.read(run_dir.checkpoint(step)).get("source"))


def _of_policy(path: Path) -> SourceCopy:
    try:
        if (source := carried_by(path, "source")) is not None:
            return source_copy.from_json(source)
    except ValueError as error:
        raise PolicyError(f"{path}: its copy of the code cannot be read: {error}") from error
    raise PolicyError(f"{path} carries no code: it was not trained by an algorithm of a user's")
