"""The environments that a script has made, as the live view sees them: slots that come and go.

Every environment that `gym.make` returned, every process of an AsyncVectorEnv and every slot of an envpool is a slot as
long as it is open. The check that a step pays is one comparison with the clock; the view is opened at the first step.
"""

import math
import os
from collections.abc import Callable
from time import monotonic
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.foreign.script_record import ScriptRecord
from cleanrl_worker.foreign.stop_signals import Stopping
from cleanrl_worker.sdk.live import open_live_view
from mosaic import envs as families
from mosaic.envs.vector.twin import Twin
from mosaic.errors import MosaicError
from mosaic.spec.run_config import TrainOptions

Picture = NDArray[np.uint8]


class Slot(Protocol):
    """One environment."""

    @property
    def is_there(self) -> bool:
        """False once the script has let go of it."""
        ...

    def picture(self) -> Picture | None: ...

    def so_far(self) -> tuple[float, int]:
        """Return and length of its episode, as far as they are counted."""
        ...


class Eye(Protocol):
    """What a step asks: whether a viewer wants something at this moment."""

    due_at: float

    def show(self) -> None: ...


class _Never:
    due_at = math.inf

    def show(self) -> None: ...


class _Calls:
    """Does something at the next step."""

    due_at = 0.0

    def __init__(self, action: Callable[[], None]) -> None:
        self.show = action


class ShownEnvironments:
    backend = "script"

    def __init__(self, record: ScriptRecord, stopping: Stopping, options: TrainOptions) -> None:
        self.slots: list[Slot | None] = []
        self.eye: Eye = _Calls(self._open)
        self.num_envs = 0
        self.made: dict[int, tuple[str, dict[str, Any]]] = {}
        """Id and arguments of each environment that can be drawn elsewhere, by its slot."""
        self._record = record
        self._options = options
        self._view: open_live_view.LiveView | None = None
        stopping.when_asked(self._call_to_stop(stopping))
        # A process that the script forks steps environments of its own, and no viewer sees them.
        os.register_at_fork(after_in_child=self._leave)

    @property
    def wanted(self) -> bool:
        return open_live_view.wanted(self._options)

    def look(self) -> None:
        """Called after each step of any environment."""
        if monotonic() >= self.eye.due_at:
            self.eye.show()

    def enter(self, slot: Slot) -> int:
        """A new environment takes the first place that is free."""
        for place, taken in enumerate(self.slots):
            if taken is None or not taken.is_there:
                self.slots[place] = slot
                return place
        self.slots.append(slot)
        return len(self.slots) - 1

    def leave(self, slot: Slot) -> None:
        if slot in self.slots:
            place = self.slots.index(slot)
            self.slots[place] = None
            self.made.pop(place, None)

    def close(self) -> None:
        self.eye = _Never()
        if self._view is not None:
            self._record.view_closed(self._view.path)
            self._view.close()

    # What a view asks.

    def render_slot(self, slot: int) -> Picture | None:
        found = self.at(slot)
        return np.zeros((64, 64, 3), np.uint8) if found is None else found.picture()

    def episode_so_far(self, slot: int) -> tuple[float, int]:
        found = self.at(slot)
        return (0.0, 0) if found is None else found.so_far()

    def at(self, place: int) -> Slot | None:
        found = self.slots[place] if place < len(self.slots) else None
        return found if found is not None and found.is_there else None

    def freezer(self) -> "_Freezer | None":
        """States instead of pictures, where every slot is the same environment and the family can draw it elsewhere."""
        ids = {env_id for env_id, arguments in self.made.values() if not arguments}
        if len(self.made) != len(self.slots) or len(ids) != 1:
            return None
        env_id = ids.pop()
        try:
            twin = families.family_of(env_id).twin
        except MosaicError:
            return None
        envs = [getattr(slot, "env", None) for slot in self.slots]
        if twin is None or not all(env is not None and twin.fits(env.unwrapped) for env in envs):
            return None
        return _Freezer(self, env_id, twin)

    def _open(self) -> None:
        self.eye = _Never()
        if not self.wanted or not any(self.slots):
            return
        self.num_envs = len(self.slots)
        view = open_live_view.open_view(
            self,  # type: ignore[arg-type]
            self._options,
            global_step=lambda: self._record.global_step,
            complain=self._record.warn,
        )
        if view is not None:
            self._view = self.eye = view
            self._record.view(view.path, self.num_envs)

    def _call_to_stop(self, stopping: Stopping) -> Callable[[], None]:
        def call() -> None:
            self.eye = _Calls(stopping.check)

        return call

    def _leave(self) -> None:
        self.eye = _Never()
        self._view = None


class _Freezer:
    """As `mosaic.envs.vector.twin.Freezer`, for slots that may change hands."""

    def __init__(self, shown_environments: ShownEnvironments, env_id: str, twin: Twin) -> None:
        self.env_id = env_id
        self.settings: dict[str, Any] = {}
        """None: where a script gives arguments of its own there is no twin."""
        self._shown_environments = shown_environments
        self._freeze = twin.freeze
        self._last: dict[int, NDArray[np.float64]] = {}

    def freeze(self, slot: int) -> NDArray[np.float64]:
        found: Any = self._shown_environments.at(slot)
        made = self._shown_environments.made.get(slot)
        if found is not None and made is not None and made[0] == self.env_id:
            self._last[slot] = self._freeze(found.env.unwrapped)
        return self._last[slot]
