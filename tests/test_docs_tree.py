"""The docs are one tree: its index leads to every page, and every link to a page and a heading that exist."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOT_PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in ROOT_PAGES)])
FENCE = re.compile(r"(?ms)^```.*?^```\n?")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"(?m)^#+ (.*)$")


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The file and the heading of each link that stays within the tree."""
    for target in LINK.findall(FENCE.sub("", page.read_text())):
        if "://" not in target:
            path, _, anchor = target.partition("#")
            yield ((page.parent / path).resolve() if path else page), anchor


def anchors(page: Path) -> set[str]:
    """The headings of a page as GitHub names them in links."""
    titles = (heading.replace("`", "") for heading in HEADING.findall(FENCE.sub("", page.read_text())))
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_page_and_a_heading(page: Path) -> None:
    broken = [
        f"{target.relative_to(ROOT)}#{anchor}"
        for target, anchor in links(page)
        if not target.exists() or (anchor and anchor not in anchors(target))
    ]
    assert broken == []


def test_the_index_leads_to_every_page() -> None:
    reached, ahead = set[Path](), [ROOT / "docs" / "README.md"]
    while ahead:
        page = ahead.pop()
        if page not in reached:
            reached.add(page)
            # A folder without an index of its own, as docs/algorithms, is a list by itself.
            ahead += [found for target, _ in links(page) for found in pages_at(target)]
    assert [page.relative_to(ROOT).as_posix() for page in PAGES if page not in reached] == []


def pages_at(target: Path) -> list[Path]:
    if target.is_dir():
        index = target / "README.md"
        return [index] if index.exists() else sorted(target.glob("*.md"))
    return [target] if target.suffix == ".md" else []


def test_the_wheel_has_every_page_that_the_window_shows() -> None:
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    wanted = {f"docs/{page.name}": f"mosaic/docs/{page.name}" for page in (ROOT / "docs").glob("*.md")}
    given = {source: target for source, target in included["force-include"].items() if source.endswith(".md")}
    assert given == wanted
