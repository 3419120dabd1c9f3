"""Generate the gRPC code from trainer.proto (`make proto`); with --check, fail if it is not fresh."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import grpc_tools

ROOT = Path(__file__).resolve().parent.parent
PROTO = "mosaic/rpc/trainer.proto"
GENERATED = ("trainer_pb2.py", "trainer_pb2.pyi", "trainer_pb2_grpc.py")


def generate(target: Path) -> None:
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    outputs = [f"--python_out={target}", f"--pyi_out={target}", f"--grpc_python_out={target}"]
    command = ["-m", "grpc_tools.protoc", f"-I{ROOT / 'src'}", f"-I{well_known}", *outputs, PROTO]
    subprocess.run([sys.executable, *command], check=True)
    _without_registered_methods(target / "mosaic/rpc/trainer_pb2_grpc.py")


def _without_registered_methods(stubs: Path) -> None:
    """A call by a registered method on a closed channel that has interceptors ends the process (SIGSEGV)."""
    stubs.write_text(re.sub(r",\n +_registered_method=True\)", ")", stubs.read_text()))


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def main() -> int:
    folder = ROOT / "src/mosaic/rpc"
    if "--check" not in sys.argv[1:]:
        generate(ROOT / "src")
        return 0
    with tempfile.TemporaryDirectory() as name:
        generate(Path(name))
        made = Path(name) / "mosaic/rpc"
        stale = [file for file in GENERATED if _content(made / file) != _content(folder / file)]
    if stale:
        print(f"generated code is not fresh: {', '.join(stale)}; run 'make proto'", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    raise SystemExit(main())
