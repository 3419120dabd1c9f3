"""MOSAIC, a reinforcement-learning studio. `from mosaic import Client` is its Python interface (docs/python-api.md)."""

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
