"""Which of the two forms of a live view a run gets.

The learner compares one number (`due_at`) with the clock a step, and calls `show` when it is over. `twin_view` is for
environments whose state can be copied: another process draws them. `plain_view` is for all others: their own
`render()` takes the learner's time, within a budget. An environment that cannot render, or blocks, costs the run
nothing but its live view.
"""

from collections.abc import Callable
from typing import Any

from cleanrl_worker.sdk.live.live_view import LiveView as LiveView
from cleanrl_worker.sdk.live.plain_view import PlainView
from cleanrl_worker.sdk.live.twin_view import TwinView
from mosaic.envs import VecEnv
from mosaic.fastlane.ring import RingWriter
from mosaic.spec.run_config import LiveView as LiveViewOptions


def open_view(
    envs: VecEnv,
    options: LiveViewOptions,
    *,
    env_id: str = "",
    global_step: Callable[[], int],
    complain: Callable[[str], None],
    evaluation: bool = False,
) -> LiveView | None:
    """The view that a run's options ask for; without room in shared memory the run goes on without one."""
    if not wanted(options):
        return None
    try:
        ring = RingWriter.create()
    except OSError as error:
        complain(f"the live view is off: no room for its frames ({error}); the run goes on")
        return None
    how: Any = {"env_id": env_id, "global_step": global_step, "complain": complain, "evaluation": evaluation}
    freezer = envs.freezer()
    return PlainView(envs, ring, options, **how) if freezer is None else TwinView(envs, freezer, ring, options, **how)


def wanted(options: LiveViewOptions) -> bool:
    return options.fastlane_enabled and options.video_mode != "off"
