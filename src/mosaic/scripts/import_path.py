"""Where a script finds what it imports, as if it were started by hand."""

from pathlib import Path

from mosaic.scripts.code_gate import package_root

ROOT_SIGNS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
LEVELS = 4


def search_path(script: Path, module: str) -> list[str]:
    """What stands before and behind the usual path: the first one is sys.path[0], the checkout's root the last."""
    first = package_root(script, module) if module else script.parent
    root = _checkout_root(script)
    return [str(first), *([str(root)] if root is not None and root != first else [])]


def _checkout_root(script: Path) -> Path | None:
    """The folder above that looks like a project's: CleanRL's scripts import `cleanrl_utils` from there."""
    for folder in list(script.parents)[:LEVELS]:
        if any((folder / sign).exists() for sign in ROOT_SIGNS):
            return folder
    return None
