"""A sweep as a client sees it: read through the daemon, and kept up to date with the lines that are new."""

from mosaic import config
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.client import Client
from mosaic.sweep import sweep_plan
from mosaic.sweep.sweep_dir import SweepDamaged, parse_lines
from mosaic.sweep.sweep_plan import SweepPlan
from mosaic.sweep.sweep_state import SweepState


class SweepReader:
    """Of one sweep; each `refresh` fetches what is new alone."""

    def __init__(self, client: Client, sweep_id: str) -> None:
        self._client = client
        self.sweep_id = sweep_id
        self._bytes = 0
        self._state: SweepState | None = None
        self.summary = pb.Sweep(sweep_id=sweep_id)

    @property
    def read_bytes(self) -> int:
        """How much of the file of trials is known."""
        return self._bytes

    @property
    def state(self) -> SweepState:
        return self._state if self._state is not None else self.refresh()

    def refresh(self) -> SweepState:
        """SweepDamaged if its files cannot be read."""
        while True:
            found = self._client.sweep(self.sweep_id, after_bytes=self._bytes)
            self.summary = found.sweep
            if found.sweep.damage:
                raise SweepDamaged(found.sweep.damage)
            state = self._state or SweepState(plan_of(found.sweep))
            for line in parse_lines(found.lines, what=f"sweep {self.sweep_id}"):
                state.apply(line)
            self._state, self._bytes = state, found.next_bytes
            if not found.more:
                return state


def plan_of(sweep: pb.Sweep) -> SweepPlan:
    return sweep_plan.parse(config.loads(sweep.plan_json), what=f"sweep {sweep.sweep_id}")
