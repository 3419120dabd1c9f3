"""docs/walks.md names functions that exist, and as many modules as its headings say."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "walks.md"
PLACE = re.compile(r"`(src/[\w/]+\.py):([\w.]+)`")
HEADING = re.compile(r"(.+): (\d+) modules")
MOST = {"A return": 19, "The Train button": 20, "A key press in Play": 20, "`kill -9` of a worker": 19}
"""A walk may become shorter."""


def walks() -> list[tuple[str, str]]:
    """Heading and text of each."""
    parts = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def names_of(tree: ast.Module | ast.ClassDef) -> dict[str, ast.stmt]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name: node for node in tree.body if isinstance(node, kinds)}


@pytest.mark.parametrize("place", sorted(set(PLACE.findall(PAGE.read_text(encoding="utf-8")))), ids=":".join)
def test_a_function_of_a_walk_exists(place: tuple[str, str]) -> None:
    file, name = place
    found: ast.stmt | ast.Module = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    for part in name.split("."):
        assert isinstance(found, ast.Module | ast.ClassDef), f"{name} is not in {file}"
        assert part in names_of(found), f"{part} is not in {file}"
        found = names_of(found)[part]


@pytest.mark.parametrize(("heading", "text"), walks(), ids=[heading for heading, _ in walks()])
def test_a_walk_has_as_many_modules_as_it_says(heading: str, text: str) -> None:
    said = HEADING.fullmatch(heading)
    assert said is not None, heading
    steps = re.findall(r"(?m)^(\d+)\. (.+(?:\n   .+)*)", text)
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    # Of a step the first module; one that a step names besides is passed a second time.
    modules = [PLACE.findall(step)[0][0] for _, step in steps]
    assert len(modules) == len(set(modules)), "a module counts once"
    assert {file for _, step in steps for file, _ in PLACE.findall(step)} == set(modules)
    assert len(modules) == int(said[2])
    assert int(said[2]) <= MOST[said[1].partition(",")[0]]


def test_the_architecture_leads_to_them() -> None:
    assert "(docs/walks.md)" in (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert [heading.partition(",")[0] for heading, _ in walks()] == list(MOST)
