"""`mosaic verify [RUN…]`: compare checkpoints and policies with the digests that they were written with."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from mosaic.cli import DAMAGED
from mosaic.cli.daemon.connection import BadArguments, connect, parser, refuse_remote
from mosaic.cli.runs.run_by_name import pick, shown_id
from mosaic.cli.terminal.printing import Block, clean, columns, fit, note, paint, print_json, table
from mosaic.cli.terminal.readable import plural, size
from mosaic.spec.files import checkpoint_files, damage_check
from mosaic.spec.files.damage_check import Finding, Seen
from mosaic.spec.run_dir import Home
from mosaic.spec.run_list import all_runs


def main(argv: Sequence[str]) -> int:
    about = "Compare checkpoints and policies with their digests: those of the whole home, or of the runs named."
    words = parser("verify", about, json=True)
    help_text = "id, its beginning or end, a label, @last; or the path of a policy, a checkpoint or a run directory"
    words.add_argument("what", metavar="RUN", nargs="*", help=help_text)
    flags = words.parse_args(argv)
    refuse_remote("verify")
    folders = _folders(flags.what) if flags.what else [run_dir.root for run_dir in all_runs(Home.resolve())]
    findings: list[tuple[Path, Finding]] = []
    progress = Block()
    for folder, finding in _look(folders, progress if not flags.json else None):
        findings.append((folder, finding))
        if flags.json:
            print_json(_as_json(folder, finding))
    progress.clear()
    if not flags.json:
        _report(len(folders), findings)
    return DAMAGED if any(finding.result == "damaged" for _, finding in findings) else 0


def _folders(words: Sequence[str]) -> list[Path]:
    """Paths as they are, runs by their directories; nothing is read unless all are known."""
    paths = [Path(word).expanduser().absolute() for word in words]
    runs = [word for word, path in zip(words, paths, strict=True) if not path.exists()]
    found: dict[str, Path] = {}
    if runs:
        with connect() as client:
            found = {word: Path(pick(client, word).run_dir) for word in runs}
    return list(dict.fromkeys(found.get(word, path) for word, path in zip(words, paths, strict=True)))


def _look(folders: Sequence[Path], progress: Block | None) -> Iterator[tuple[Path, Finding]]:
    seen: Seen = {}
    read = 0
    for number, folder in enumerate(folders, start=1):
        for finding in _look_at(folder, seen):
            read += finding.bytes
            if progress is not None:
                line = f"{number:,} of {len(folders):,}  {size(read)}  {folder.name}"
                progress.draw([fit(line, columns() - 1)])
            yield folder, finding


def _look_at(path: Path, seen: Seen) -> Iterator[Finding]:
    if path.is_file():
        finding = damage_check.look_at_policy(path)
        if finding is None:
            raise BadArguments(f"{path} is not a policy of MOSAIC: it has no digest to compare it with")
        yield finding
    elif (path / checkpoint_files.DOCUMENT).exists():
        finding = damage_check.look_at_checkpoint(path, seen)
        yield from () if finding is None else (finding,)
    elif any((path / name).exists() for name in ("run.json", "config.json", "events.jsonl")):
        yield from damage_check.look_through(path, seen)
    elif path.exists():
        raise BadArguments(f"{path} is neither a run directory nor a checkpoint nor a policy")


def _report(folders: int, findings: Sequence[tuple[Path, Finding]]) -> None:
    damaged = [(folder, finding) for folder, finding in findings if finding.result == "damaged"]
    if damaged:
        rows = [(_name(folder), finding.what, _problem(folder, finding)) for folder, finding in damaged]
        print("\n".join(table(("run", "damaged", "what is wrong"), rows)))
        for what, advice in {finding.what: finding.advice for _, finding in damaged}.items():
            print(f"{what}: {advice}")
        print()
    old = Counter(finding.what for _, finding in findings if finding.result == "no digest")
    if old:
        kinds = " and ".join(plural(number, what) for what, number in old.items())
        note(f"{kinds} of an earlier version: without digests, so damage in them cannot be told")
    whole = Counter(finding.what for _, finding in findings if finding.result == "whole")
    kinds = " and ".join(plural(whole[what], what).replace("policys", "policies") for what in ("checkpoint", "policy"))
    verdict = paint(f"{len(damaged):,} damaged", "red") if damaged else paint("nothing is damaged", "green")
    print(f"{plural(folders, 'run')}: {kinds} whole ({size(sum(finding.bytes for _, finding in findings))}); {verdict}")


def _name(folder: Path) -> str:
    return shown_id(folder.name) if folder.parent.name == "runs" else ""


def _problem(folder: Path, finding: Finding) -> str:
    """In the words of the run: its own files without the way to them."""
    return clean(finding.problem.replace(f"{folder}/", ""))


def _as_json(folder: Path, finding: Finding) -> dict[str, object]:
    return {
        "run": folder.name,
        "what": finding.what,
        "path": str(finding.path),
        "result": finding.result,
        "problem": finding.problem,
        "advice": finding.advice,
        "bytes": finding.bytes,
    }
