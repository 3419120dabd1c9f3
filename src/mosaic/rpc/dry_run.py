"""A dry run, seen by a client: lines while it runs, and what came of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import MosaicError, Problem
from mosaic.rpc import trainer_pb2 as pb

UNARY_TIMEOUT_S = 120.0


class DryRunCancelled(MosaicError):
    """The client ended it."""


@dataclass(frozen=True)
class Validation:
    """What a dry run found."""

    ok: bool
    output: str
    summary: JsonObject
    problems: tuple[Problem, ...]
    exit_code: int = 0
    """3 if something is not installed."""


def dry_run(
    stub: Any,
    request: pb.ValidateRunRequest,
    tell: Callable[[str], object],
    begun: Callable[[Callable[[], object]], object],
) -> Validation:
    """Block until it has ended. `tell` gets each line, `begun` a function that cancels it from any thread."""
    call = stub.DryRun(request)
    begun(call.cancel)
    try:
        reply = _followed(call, tell)
    except grpc.RpcError as error:
        failed: Any = error
        if call.cancelled():
            raise DryRunCancelled("the dry run was cancelled; nothing was made") from None
        if failed.code() != grpc.StatusCode.UNIMPLEMENTED:
            raise
        # A daemon of version 0.1 answers in one piece.
        reply = stub.ValidateRun(request, timeout=UNARY_TIMEOUT_S)
    except BaseException:  # Ctrl-C: the worker must not go on without a client.
        call.cancel()
        raise
    summary = config.loads(reply.summary_json) if reply.summary_json else {}
    problems = tuple(Problem(problem.path, problem.message) for problem in reply.problems)
    return Validation(reply.ok, reply.output, summary, problems, reply.exit_code)


def _followed(call: Any, tell: Callable[[str], object]) -> pb.ValidateRunReply:
    reply = pb.ValidateRunReply(output="the daemon ended before the dry run did; try it again")
    for update in call:
        for line in update.output.splitlines():
            tell(line)
        if update.HasField("reply"):
            reply = update.reply
    return reply
