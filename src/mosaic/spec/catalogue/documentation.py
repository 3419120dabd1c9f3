"""The pages of the documentation, shipped inside the package or in the checkout's docs/."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mosaic.spec.catalogue.algorithm_pages import package_folder

PACKAGE = "mosaic"
FIRST = "README.md"
"""The page with the reading order."""


@dataclass(frozen=True)
class DocumentationPage:
    """One Markdown file."""

    name: str
    """Of the file: what links between the pages say."""
    title: str
    path: Path


def pages() -> Sequence[DocumentationPage]:
    """The first page first, the others by title."""
    for folder in folders():
        found = [DocumentationPage(path.name, _title(path), path) for path in folder.glob("*.md")]
        if found:
            return sorted(found, key=lambda page: (page.name != FIRST, page.title.lower()))
    return ()


def folders() -> tuple[Path, ...]:
    package = package_folder(PACKAGE)
    return package / "docs", package.parent.parent / "docs"


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return file.readline().removeprefix("#").strip() or path.stem
