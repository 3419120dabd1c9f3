"""Between the records of `mosaic.spec` and the messages of trainer.proto."""

from dataclasses import fields

from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

UNKNOWN_ETA = -1.0
_PLAIN = tuple(
    "run_id reason kind label notes algo env_id seed group priority global_step total_timesteps steps_per_s last_return"  # noqa: SIM905
    " best_return exit_code stderr_tail config_digest submitted_at started_at ended_at attempt pid last_seq revision"
    " run_dir deleted sparkline".split()
)
"""Fields that are the same on both sides."""


def to_message(record: RunRecord) -> pb.Run:
    values = {name: getattr(record, name) for name in _PLAIN}
    eta_s = record.eta_s
    return pb.Run(**values, state=record.state.value, eta_s=UNKNOWN_ETA if eta_s is None else eta_s)


def to_record(message: pb.Run) -> RunRecord:
    """What a client knows of a run; what only the daemon needs stays at its default."""
    values = {name: getattr(message, name) for name in _PLAIN}
    for name in ("last_return", "best_return", "exit_code"):
        values[name] = getattr(message, name) if message.HasField(name) else None
    for name in ("stderr_tail", "sparkline"):
        values[name] = tuple(values[name])
    return RunRecord(**values, state=RunState(message.state))


assert set(_PLAIN) < {field.name for field in fields(RunRecord)}, "trainer.proto and RunRecord have drifted apart"
