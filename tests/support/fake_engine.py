"""An engine without processes, for tests of the supervisor alone."""

from mosaic.trainer.engines.engine import Collected, Handle, Probe
from mosaic.trainer.runs import schedule


class FakeEngine:
    """Workers that exist in this dictionary only; they survive the daemon, as real ones do."""

    def __init__(self) -> None:
        self.alive: dict[str, int] = {}
        self.asked: set[int] = set()
        self.codes: dict[int, int] = {}
        self.launched: list[str] = []
        self._next = 100

    runs_here = True

    def misfits(self, config, slots):
        return ()

    def choose(self, queued, live, slots):
        return schedule.choose(queued, live, slots)

    def probe(self) -> Probe:
        return Probe()

    def launch(self, launch) -> Handle:
        run_id = launch.run_dir.run_id
        assert run_id not in self.alive, "a second copy"
        self._next += 1
        self.alive[run_id] = self._next
        self.launched.append(run_id)
        return Handle(run_dir=launch.run_dir, epoch=launch.epoch, pid=self._next)

    def poll(self, handle) -> bool:
        pid, run_id = handle.pid, handle.run_dir.run_id
        return self.alive.get(run_id) == pid if pid else run_id in self.alive

    def pid_of(self, handle) -> int:
        return 0

    def stop(self, handle) -> bool:
        if not handle.pid:
            return False
        assert handle.pid not in self.asked, "asked twice, it would end without a checkpoint"
        self.asked.add(handle.pid)
        return True

    def would_save(self, handle) -> bool:
        return bool(handle.pid) and handle.pid not in self.asked

    def hold(self, handle) -> None: ...

    def let_go(self, handle) -> None: ...

    def kill(self, handle) -> None:
        self.alive.pop(handle.run_dir.run_id, None)

    def collect(self, handle):
        return Collected(exit_code=self.codes.get(handle.pid))

    def forget(self, handle) -> None: ...

    def warm_up(self) -> None: ...

    is_warm = False

    def close(self) -> None: ...
