"""Files with the names of libraries and of our own packages that leave a mark when they are run."""

from pathlib import Path

NAMES = (
    *("numpy.py", "torch.py", "grpc.py", "gymnasium.py", "json.py", "numbers.py"),
    *("sitecustomize.py", "usercustomize.py", "mosaic/__init__.py", "cleanrl_worker/__init__.py"),
)


def plant(folder: Path, marker: Path) -> None:
    """Each writes its own path into the marker."""
    for name in NAMES:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"with open({str(marker)!r}, 'a') as mark:\n    mark.write(__file__ + chr(10))\n")
