"""`make release-check`: what must be true of a checkout before its version is published.

The version is one everywhere, the changelog has a dated section of it and nothing unreleased, no file is uncommitted.
Makes nothing: `make release-check` runs the static checks, the documentation site and the wheel beside this.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CITATION = ROOT / "CITATION.cff"
ADDRESSES = ("Documentation", "Source", "Changelog", "Issues")
DATED = r"(?m)^## {version} \(\d{{4}}-\d{{2}}-\d{{2}}\)$"


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    version = project["version"]
    problems = list(problems_of(version, (ROOT / "CHANGELOG.md").read_text(), CITATION.read_text(), uncommitted()))
    problems += missing_addresses(project.get("urls", {}))
    for problem in problems:
        print(f"not ready: {problem}", file=sys.stderr)
    if not problems:
        print(f"{version} is ready: tag it, build with 'python -m hatchling build', publish what lies in dist/")
    return 1 if problems else 0


def problems_of(version: str, changelog: str, citation: str, changed: str) -> Iterator[str]:
    if f"\nversion: {version}\n" not in citation:
        yield f"CITATION.cff names another version than pyproject.toml, which has {version}"
    if not re.search(DATED.format(version=re.escape(version)), changelog):
        yield f"CHANGELOG.md has no section '## {version} (YYYY-MM-DD)'"
    if unreleased(changelog):
        yield "CHANGELOG.md has changes under 'Unreleased': move them under the version, or raise the version"
    if changed:
        yield f"{len(changed.splitlines())} files are not committed; 'git status' lists them"


def missing_addresses(urls: dict[str, str]) -> list[str]:
    """A package index shows them beside the package; which they are is known only where it is published."""
    missing = [name for name in ADDRESSES if not urls.get(name, "").startswith("https://")]
    return [f"pyproject.toml, [project.urls], names no {', '.join(missing)}"] if missing else []


def unreleased(changelog: str) -> str:
    """What stands in the section without a version."""
    found = re.search(r"(?ms)^## Unreleased$(.*?)(?=^## |\Z)", changelog)
    return found[1].strip() if found else ""


def uncommitted() -> str:
    return subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    raise SystemExit(main())
