"""What to do next about a run that did not finish."""

import signal

from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import KILLED_FROM_OUTSIDE, RunState

_BY_EXIT_CODE = {
    2: "Clone and edit the run, correct what is named above, and start it again.",
    3: "Install what is named above where the daemon runs, then resume the run.",
    4: "The environment or the disk failed, not the learning: fix it, then resume from the newest checkpoint.",
    5: "The training diverged. Clone and edit with a smaller learning rate; checkpoints from before are kept.",
    -signal.SIGKILL: "If memory ran out, clone with fewer environments or a smaller buffer; else just resume.",
}
_BY_STATE = {
    RunState.FAILED: "The last lines of stderr are below, all in tab Log. Resume goes on from the newest checkpoint.",
    RunState.LOST: "Resume goes on from the newest checkpoint, exactly.",
    RunState.CANCELLED: "Resume goes on exactly where it ended.",
}


_OF_SESSIONS = {
    "play": "Start another session in the Play tab; what is named above is corrected there.",
    "policy_eval": "Evaluate again with Load policy…; what is named above is corrected there.",
}
"""By kind: these are neither cloned nor resumed."""


def advice_on(run: RunRecord) -> str:
    """One sentence or two; empty for a run that needs none."""
    if run.kind in _OF_SESSIONS:
        return _OF_SESSIONS[run.kind] if run.state in (RunState.FAILED, RunState.LOST) else ""
    if run.state is RunState.FAILED and run.reason == KILLED_FROM_OUTSIDE:
        return _BY_STATE[RunState.LOST]
    if run.state is RunState.FAILED and run.exit_code in _BY_EXIT_CODE:
        return _BY_EXIT_CODE[run.exit_code]
    return _BY_STATE.get(run.state, "")
