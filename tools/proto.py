"""Generate the messages of trainer.proto as Python code (`make proto`); with --check, fail if it is not fresh."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import grpc_tools

ROOT = Path(__file__).resolve().parent.parent
PROTO = "mosaic/rpc/trainer.proto"
GENERATED = ("trainer_pb2.py", "trainer_pb2.pyi")


def generate(target: Path) -> None:
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    outputs = [f"--python_out={target}", f"--pyi_out={target}"]
    command = ["-m", "grpc_tools.protoc", f"-I{ROOT / 'src'}", f"-I{well_known}", *outputs, PROTO]
    subprocess.run([sys.executable, *command], check=True)
    _without_offsets(target / "mosaic/rpc/trainer_pb2.py")


def _without_offsets(messages: Path) -> None:
    """Where each message lies in the descriptor: for `CopyToProto` of protobuf in pure Python alone, and all of them
    change with every change of the interface."""
    messages.write_text(re.sub(r"  _globals\['\w+'\]\._serialized_(start|end)=\d+\n", "", messages.read_text()))


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
