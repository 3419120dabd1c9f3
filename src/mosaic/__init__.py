"""MOSAIC, a reinforcement-learning studio. `from mosaic import Client` is its Python interface (docs/python-api.md)."""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mosaic.rpc.client import Client as Client

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`Client` on first use: it brings gRPC and pydantic, which `import mosaic` alone must not wait for."""
    if name != "Client":
        raise AttributeError(f"module 'mosaic' has no attribute '{name}'")
    from mosaic.rpc.client import Client

    return Client


def _leave_current_folder() -> None:
    """`python -m mosaic.cli` has the current folder first on its path: a file `grpc.py` there would be run.

    Only where this package lies elsewhere, and not for the play worker, which finds environments beside the user.
    """
    words = sys.orig_argv
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
    is_ours = module.startswith("mosaic.") and not module.startswith("mosaic.play.")
    # While packages around the module of `-m` are imported, sys.argv[0] is "-m".
    if is_ours and sys.argv[:1] == ["-m"] and not sys.flags.safe_path and not __file__.startswith(sys.path[0]):
        del sys.path[0]


_leave_current_folder()
