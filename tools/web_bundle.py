"""Build the page of `mosaic web` (`make web`); with --check, fail if the bundle was built from other sources.

The check needs no npm: beside the bundle lies the digest of everything that it was built from, and of itself.
"""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "web"
BUNDLE = ROOT / "src/mosaic/web/bundle"
DIGESTS = BUNDLE / "digests.json"
BUILT = ("index.html", "icon.svg", "studio.css", "studio.js")
BUILT_FROM = ("package.json", "package-lock.json", "tsconfig.json", "build.mjs")


def build() -> None:
    """The versions of the lock file, and no others."""
    for command in (
        ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"),
        ("npm", "run", "--silent", "check"),
        ("npm", "run", "--silent", "build"),
    ):
        subprocess.run(command, cwd=SOURCES, check=True)
    DIGESTS.write_text(json.dumps(digests(), indent=1) + "\n")


def digests() -> dict[str, str]:
    sources = [SOURCES / name for name in BUILT_FROM] + sorted((SOURCES / "src").rglob("*.*"))
    return {"sources": _digest(sources, SOURCES), "bundle": _digest([BUNDLE / name for name in BUILT], BUNDLE)}


def _digest(files: Iterable[Path], root: Path) -> str:
    """Names count too, and where each file ends."""
    found = hashlib.sha256()
    for file in files:
        content = file.read_bytes() if file.exists() else b""
        found.update(f"{file.relative_to(root).as_posix()}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def main() -> int:
    if "--check" not in sys.argv[1:]:
        build()
        return 0
    kept: dict[str, str] = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
    stale = [name for name, digest in digests().items() if kept.get(name) != digest]
    if stale:
        print(f"the page of 'mosaic web' is not fresh ({', '.join(stale)} changed); run 'make web'", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    raise SystemExit(main())
