"""Generate the messages of our .proto files as Python code (`make proto`); with --check, fail if it is not fresh."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

import grpc_tools

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("trainer", "agent")
PROTOS = tuple(f"mosaic/rpc/{name}.proto" for name in NAMES)
GENERATED = tuple(f"{name}_pb2.{ending}" for name in NAMES for ending in ("py", "pyi"))


def generate(target: Path) -> None:
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    outputs = [f"--python_out={target}", f"--pyi_out={target}"]
    command = ["-m", "grpc_tools.protoc", f"-I{ROOT / 'src'}", f"-I{well_known}", *outputs, *PROTOS]
    subprocess.run([sys.executable, *command], check=True)
    for name in NAMES:
        _without_offsets(target / f"mosaic/rpc/{name}_pb2.py")
        _without_unused_names(target / f"mosaic/rpc/{name}_pb2.pyi")


def _without_offsets(messages: Path) -> None:
    """Where each message lies in the descriptor: for `CopyToProto` of protobuf in pure Python alone, and all of them
    change with every change of the interface."""
    messages.write_text(re.sub(r"  _globals\['\w+'\]\._serialized_(start|end)=\d+\n", "", messages.read_text()))


def _without_unused_names(types: Path) -> None:
    """Numbers of fields, which no code asks for by name, and slots, which say nothing of a type."""
    text = re.sub(r"    +(\w+_FIELD_NUMBER: _ClassVar\[int\]|__slots__ = .*)\n", "", types.read_text())
    types.write_text(text if "_ClassVar[" in text else text.replace("ClassVar as _ClassVar, ", ""))


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
