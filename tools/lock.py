"""Resolve every extra at once and write constraints.txt, the one file that pins every version (`make lock`)."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEADER = """\
# Every version of every extra, resolved together. Made by `make lock`; do not edit by hand.
# torch stays at 2.13.0 (a looser pin takes several gigabytes of CUDA on a machine without a GPU).
"""
TORCH = "torch==2.13.0"
TRACKIO_NEEDS = ("brotli", "gradio-client", "orjson", "python-multipart")


def main() -> int:
    pins = resolved(f"{ROOT}[all,dev]", TORCH, *TRACKIO_NEEDS)
    pins.pop("mosaic-rl")
    # Alone: it asks for an older pillow than the rest (tools/setup.sh installs it so, too).
    pins |= resolved("--no-deps", "trackio")
    # A local build tag ("+cpu") names one machine's wheel; the public version matches any of them.
    lines = [f"{name}=={version.split('+')[0]}" for name, version in sorted(pins.items(), key=lambda p: p[0].lower())]
    (ROOT / "constraints.txt").write_text(HEADER + "\n".join(lines) + "\n")
    return 0


def resolved(*words: str) -> dict[str, str]:
    """Names and versions of what pip would install."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    report = json.loads(subprocess.run([*command, *words], check=True, stdout=subprocess.PIPE, text=True).stdout)
    return {item["metadata"]["name"]: item["metadata"]["version"] for item in report["install"]}


if __name__ == "__main__":
    raise SystemExit(main())
