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


def main() -> int:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
    command += ["--report", "-", f"{ROOT}[all,dev]"]
    report = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    pins = {item["metadata"]["name"]: item["metadata"]["version"] for item in report["install"]}
    pins.pop("mosaic-rl")
    # A local build tag ("+cpu") names one machine's wheel; the public version matches any of them.
    lines = [f"{name}=={version.split('+')[0]}" for name, version in sorted(pins.items(), key=lambda p: p[0].lower())]
    (ROOT / "constraints.txt").write_text(HEADER + "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
