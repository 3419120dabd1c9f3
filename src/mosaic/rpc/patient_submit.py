"""A submit that is asked again with its key until it is known whether the daemon accepted the run."""

import time
from typing import Any

import grpc

from mosaic.errors import MosaicError
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.call_errors import AWAY, ours
from mosaic.rpc.locate import DaemonUnavailable, bring_back, running_address
from mosaic.spec.run_dir import Home

SUBMIT_PATIENCE_S = 180.0
"""A first submit waits for the catalogue, which takes half a minute on a slow machine."""
AWAY_PATIENCE_S = 15.0
"""How long a daemon that this process may not start can be away before a submit gives up."""
RETRY_S = 0.2
_NOT_SENT = "failed to connect"


class SubmitUnknown(DaemonUnavailable):
    """It is not known whether a submit was accepted; the same submit with the same key makes no second run."""

    def __init__(self, client_key: str, why: str) -> None:
        super().__init__(f"{why}. {_perhaps_accepted(client_key)}")
        self.client_key = client_key


class SubmitInterrupted(KeyboardInterrupt):
    """Ctrl-C while a submit was under way."""

    def __init__(self, client_key: str) -> None:
        super().__init__(f"interrupted. {_perhaps_accepted(client_key)}")
        self.client_key = client_key


def _perhaps_accepted(client_key: str) -> str:
    return (
        "The daemon may have accepted the run: 'mosaic runs' shows it then."
        f" Submitting it again with this key (--client-key {client_key}) makes no second run"
    )


class PatientSubmit:
    """The submits of one client."""

    def __init__(self, stub: Any, *, target: str, home: Home, may_start: bool) -> None:
        self._stub = stub
        self._target = target
        self._home = home
        self._may_start = may_start
        """Whether a daemon of this home that was killed is started again."""

    def reply(self, request: pb.SubmitRunRequest, *, patience_s: float) -> pb.SubmitRunReply:
        """The daemon's answer; SubmitUnknown or SubmitInterrupted where it may have accepted the run without one."""
        try:
            return self._asked(request, patience_s)
        except KeyboardInterrupt:
            raise SubmitInterrupted(request.client_key) from None

    def _asked(self, request: pb.SubmitRunRequest, patience_s: float) -> pb.SubmitRunReply:
        deadline = time.monotonic() + patience_s
        away_since: float | None = None
        was_sent = False
        while True:
            try:
                return self._stub.SubmitRun(request, timeout=max(deadline - time.monotonic(), RETRY_S))
            except grpc.RpcError as error:
                failed: Any = error
            if failed.code() not in AWAY:
                raise ours(failed)
            is_away = _NOT_SENT in (failed.details() or "")
            if is_away and not was_sent and not self._may_start:
                raise ours(failed)  # Nothing was sent, so nothing was accepted.
            was_sent |= not is_away
            away_since = (away_since or time.monotonic()) if is_away else None
            try:
                self._look_for_daemon(deadline, away_since)
            except MosaicError as error:
                if not was_sent:
                    raise
                raise SubmitUnknown(request.client_key, str(error)) from None
            time.sleep(RETRY_S)

    def _look_for_daemon(self, deadline: float, away_since: float | None) -> None:
        """After a submit that was not answered: start a daemon that was killed, or give up with the reason."""
        now = time.monotonic()
        if now >= deadline:
            raise DaemonUnavailable("the daemon does not answer; 'mosaic daemon status' looks")
        if self._may_start and running_address(self._home) is None:
            bring_back(self._home)
        elif away_since is not None and now - away_since > AWAY_PATIENCE_S:
            raise DaemonUnavailable(f"the daemon at {self._target} is gone; 'mosaic daemon status' looks")
