"""The page of an algorithm: shipped inside the package, or in the checkout's docs/."""

from importlib.util import find_spec
from pathlib import Path

WORKER_PACKAGE = "cleanrl_worker"


def page(algo: str) -> str:
    """Markdown; empty for one without a page."""
    for folder in folders():
        file = folder / f"{algo}.md"
        if file.is_file():
            return file.read_text()
    return ""


def folders() -> tuple[Path, ...]:
    package = package_folder(WORKER_PACKAGE)
    return package / "docs", package.parent.parent / "docs" / "algorithms"


def package_folder(name: str) -> Path:
    """Where a package of ours lies; it is not imported."""
    found = find_spec(name)
    assert found is not None
    return Path(next(iter(found.submodule_search_locations or [])))
