"""`make release-check` refuses what is not ready, and the citation names the version that there is."""

import runpy
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CHECKS = runpy.run_path(str(ROOT / "tools" / "release_check.py"))
problems_of: Callable[..., Iterator[str]] = CHECKS["problems_of"]
READY = "# Changelog\n\n## Unreleased\n\n## 1.2.0 (2026-11-19)\n\n- New.\n"
CITED = "title: x\nversion: 1.2.0\n"


def test_the_citation_names_the_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert not [
        problem
        for problem in problems_of(version, "", (ROOT / "CITATION.cff").read_text(), "")
        if "CITATION" in problem
    ]


def test_a_package_that_is_published_has_addresses() -> None:
    addresses = dict.fromkeys(("Documentation", "Source", "Changelog", "Issues"), "https://example.org/")
    assert CHECKS["missing_addresses"](addresses) == []
    [problem] = CHECKS["missing_addresses"](addresses | {"Source": ""})
    assert problem == "pyproject.toml, [project.urls], names no Source"


def test_the_image_is_built_from_the_lock_and_what_it_copies_is_there() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    [extras] = [line.removeprefix("ARG EXTRAS=").split(",") for line in lines if line.startswith("ARG EXTRAS=")]
    assert (
        set(extras) <= tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].keys()
    )
    copied = [name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]]
    assert all((ROOT / name).exists() for name in copied)
    assert {"constraints.txt", "pyproject.toml", "src", "docs"} <= set(copied)
    assert any("--constraint constraints.txt" in line for line in lines)


def test_a_release_that_is_ready_has_no_problem() -> None:
    assert list(problems_of("1.2.0", READY, CITED, "")) == []


@pytest.mark.parametrize(
    ("version", "changelog", "citation", "changed", "said"),
    [
        ("1.3.0", READY.replace("1.2.0", "1.3.0"), CITED, "", "CITATION.cff names another version"),
        ("1.3.0", READY, CITED.replace("1.2.0", "1.3.0"), "", "has no section '## 1.3.0 (YYYY-MM-DD)'"),
        ("1.2.0", READY.replace("(2026-11-19)", ""), CITED, "", "has no section"),
        ("1.2.0", READY.replace("Unreleased\n", "Unreleased\n\n- More.\n"), CITED, "", "under 'Unreleased'"),
        ("1.2.0", READY, CITED, " M a\n M b\n", "2 files are not committed"),
    ],
)
def test_what_is_not_ready_is_said(version: str, changelog: str, citation: str, changed: str, said: str) -> None:
    [problem] = problems_of(version, changelog, citation, changed)
    assert said in problem
