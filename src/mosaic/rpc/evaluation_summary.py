"""What an evaluation has found: the last batch of `eval_summary.json`."""

from typing import Any, cast

from mosaic.errors import PolicyError
from mosaic.rpc.client import Client

SUMMARY = "eval_summary.json"


def summary_of(client: Client, run_id: str) -> dict[str, Any]:
    """PolicyError if there is none."""
    if SUMMARY not in client.files(run_id):
        raise PolicyError(f"run {run_id} was ended before its first batch was complete: there is no result")
    batches = client.read_json(run_id, SUMMARY)
    if not isinstance(batches, list) or not batches:
        raise PolicyError(f"{SUMMARY} of run {run_id} is damaged: it holds no batch; evaluate again")
    return cast("list[dict[str, Any]]", batches)[-1]
