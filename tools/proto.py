"""Generate the gRPC code from trainer.proto (`make proto`); with --check, fail if it is not fresh."""

import sys
import tempfile
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
PROTO = "mosaic/rpc/trainer.proto"
GENERATED = ("trainer_pb2.py", "trainer_pb2.pyi", "trainer_pb2_grpc.py")


def generate(target: Path) -> None:
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    outputs = [f"--python_out={target}", f"--pyi_out={target}", f"--grpc_python_out={target}"]
    code = protoc.main(["protoc", f"-I{ROOT / 'src'}", f"-I{well_known}", *outputs, PROTO])
    if code != 0:
        raise SystemExit(code)


def main() -> int:
    folder = ROOT / "src/mosaic/rpc"
    if "--check" not in sys.argv[1:]:
        generate(ROOT / "src")
        return 0
    with tempfile.TemporaryDirectory() as name:
        generate(Path(name))
        stale = [
            file
            for file in GENERATED
            if not (folder / file).exists() or (Path(name) / "mosaic/rpc" / file).read_bytes() != (folder / file).read_bytes()
        ]
    if stale:
        print(f"generated code is not fresh: {', '.join(stale)}; run 'make proto'", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    raise SystemExit(main())
