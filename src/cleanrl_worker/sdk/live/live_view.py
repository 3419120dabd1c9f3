"""What a live view is to the learner, and what its two forms share: a ring, a thread, and a way to give up."""

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

from cleanrl_worker.sdk.live.explained_slot import ExplainedSlot
from mosaic.envs import VecEnv
from mosaic.fastlane.ring import RingWriter


class LiveView(ABC):
    """`due_at`, `line`, `show` and `close` are for the learner; `_work` runs in the view's own thread."""

    def __init__(
        self,
        envs: VecEnv,
        ring: RingWriter,
        *,
        env_id: str = "",
        global_step: Callable[[], int],
        complain: Callable[[str], None],
    ) -> None:
        self.due_at = math.inf
        """When the learner should call `show`, on the clock `time.monotonic`; infinity while no viewer is connected."""
        self.line = ""
        """Text for the HUD."""
        self._envs = envs
        self._ring = ring
        self._global_step = global_step
        self._complain = complain
        self.explained = ExplainedSlot(envs, env_id, complain)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="live-view", daemon=True)

    @property
    def path(self) -> str:
        """The ring."""
        return str(self._ring.path)

    @abstractmethod
    def show(self) -> None:
        """Called by the learner between two steps."""

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def _work(self) -> None: ...

    def _give_up(self, why: str) -> None:
        """No more frames from this run; it goes on without them."""
        if not self._closing.is_set():
            self._closing.set()
            self.due_at = math.inf
            self._ring.note(f"no live view: {why}")
            self._complain(f"the live view is off: {why}; the run goes on")
