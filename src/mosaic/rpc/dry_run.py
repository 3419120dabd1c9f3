"""A dry run, seen by a client: lines while it runs, what came of it, and which trainings need one before the submit."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import grpc

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import MissingExtra, MosaicError, Problem
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.call_errors import Refused
from mosaic.scripts.script import is_script
from mosaic.spec import own_code, wrappers
from mosaic.spec.run_config import TrainRunConfig

UNARY_TIMEOUT_S = 120.0
_ERROR = "error: "


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

    def refuse(self) -> None:
        """Refused with what speaks against the config, if anything does."""
        if self.ok:
            return
        lines = [line for line in self.output.strip().splitlines() if line]
        # A worker says what it does before it gives up.
        begins = [at for at, line in enumerate(lines) if line.startswith(_ERROR)]
        said = "\n".join(lines[begins[-1] :] if begins else lines).removeprefix(_ERROR)
        raise Refused(said or "the dry run failed without a message", self.status)

    @property
    def status(self) -> str:
        return "UNIMPLEMENTED" if self.exit_code == MissingExtra.exit_code else "DRY_RUN"


def known_to_workers_only(document: TrainRunConfig) -> str:
    """What no catalogue can tell of a training; empty if there is nothing.

    An environment that an installed module registers, or that wrappers may have made into another one. A script decides
    by itself what it makes of a name.
    """
    env_id, settings = document.environment.env_id, document.environment.settings
    if is_script(document.metadata.worker.config.algo):
        return ""
    if settings.get(wrappers.SETTING):
        return f"{env_id} is with its wrappers"
    return f"{env_id} is" if ":" in env_id and not own_code.is_reference(env_id) else ""


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
