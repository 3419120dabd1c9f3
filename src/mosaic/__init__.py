"""MOSAIC, a reinforcement-learning studio.

`mosaic.train`, `mosaic.run` and `mosaic.runs` give runs as objects (docs/notebook.md); `from mosaic import Client` is
the whole interface of the daemon (docs/python-api.md).
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mosaic.notebook.run_handle import Run as Run
    from mosaic.notebook.run_sequence import Runs as Runs
    from mosaic.notebook.training import connect as connect
    from mosaic.notebook.training import run as run
    from mosaic.notebook.training import runs as runs
    from mosaic.notebook.training import train as train
    from mosaic.rpc.client import Client as Client

__version__ = "0.1.0"

_PLACES = {
    "Client": "mosaic.rpc.client",
    "Run": "mosaic.notebook.run_handle",
    "Runs": "mosaic.notebook.run_sequence",
    "connect": "mosaic.notebook.training",
    "run": "mosaic.notebook.training",
    "runs": "mosaic.notebook.training",
    "train": "mosaic.notebook.training",
}


def __getattr__(name: str) -> Any:
    """On first use: they bring gRPC and pydantic, which `import mosaic` alone must not wait for."""
    if name not in _PLACES:
        raise AttributeError(f"module 'mosaic' has no attribute '{name}'")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})


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
