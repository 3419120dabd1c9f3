"""An engine without processes, for tests of the supervisor alone."""

from mosaic.trainer.runs.out_of_memory import Usage


class FakeEngine:
    """Workers that exist in this dictionary only; they survive the daemon, as real ones do."""

    def __init__(self) -> None:
        self.alive: dict[str, int] = {}
        self.asked: set[int] = set()
        self.codes: dict[int, int] = {}
        self.launched: list[str] = []
        self._next = 100

    def launch(self, launch) -> int:
        run_id = launch.run_dir.run_id
        assert run_id not in self.alive, "a second copy"
        self._next += 1
        self.alive[run_id] = self._next
        self.launched.append(run_id)
        return self._next

    def is_alive(self, run_dir, pid) -> bool:
        return self.alive.get(run_dir.run_id) == pid if pid else run_dir.run_id in self.alive

    def stop(self, pid) -> None:
        assert pid not in self.asked, "asked twice, it would end without a checkpoint"
        self.asked.add(pid)

    def would_save(self, pid) -> bool:
        return pid not in self.asked

    def hold(self, pid) -> None: ...

    def let_go(self, pid) -> None: ...

    def kill(self, pid, run_dir) -> None:
        self.alive.pop(run_dir.run_id, None)

    def clear_away(self, pid, run_dir):
        return self.codes.get(pid)

    def usage_of(self, pid):
        return Usage()

    def start_apart(self, module, argv, environment, cwd):
        raise NotImplementedError

    def warm_up(self) -> None: ...

    is_warm = False

    def warm_output_of(self, module, words=(), *, timeout_s=None):
        return None

    def close(self) -> None: ...
