"""Between the records of `mosaic.spec` and the messages of trainer.proto."""

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec.actors import ActorDescriptor
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

if TYPE_CHECKING:
    from mosaic.fastlane.ring_layout import FrameHead

UNKNOWN_ETA = -1.0


@dataclass(frozen=True)
class LiveFrame:
    """A frame that came over the wire."""

    number: int
    image: bytes
    """JPEG or WebP; empty if there is none."""
    age_s: float
    """Between its publication by the worker and its sending by the daemon."""
    head: "FrameHead"
    note: str
    """Why there is no picture."""


_PLAIN = tuple(
    "run_id reason kind label notes tags algo env_id seed group priority global_step total_timesteps"  # noqa: SIM905
    " steps_per_s last_return best_return exit_code stderr_tail config_digest submitted_at started_at"
    " ended_at attempt pid last_seq  revision run_dir deleted sparkline parent parent_step damage"
    " damaged_lines first_damaged_line newer_events engine warnings".split()
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
    for name in ("stderr_tail", "sparkline", "tags", "warnings"):
        values[name] = tuple(values[name])
    return RunRecord(**values, state=RunState(message.state))


def to_actor(message: pb.Actor) -> ActorDescriptor:
    # Without `modules`: what is installed is a question to the daemon's machine, which it has answered.
    names = [field.name for field in fields(ActorDescriptor) if field.name != "modules"]
    values: dict[str, Any] = {name: getattr(message, name) for name in names}
    for name in ("actions", "observations", "families"):
        values[name] = tuple(values[name])
    return ActorDescriptor(**values)


def from_head(head: "FrameHead") -> pb.LiveFrame:
    values: dict[str, Any] = {**vars(head), "tiles": [pb.LiveTile(**vars(tile)) for tile in head.tiles]}
    return pb.LiveFrame(**values)


def to_live_frame(message: pb.LiveFrame) -> LiveFrame:
    # Here, because it brings numpy, which a client that lists runs need not wait for.
    from mosaic.fastlane.ring_layout import FrameHead, Tile

    tiles = tuple(Tile(tile.env, tile.episode_length, tile.episode_return) for tile in message.tiles)
    values = {field.name: getattr(message, field.name) for field in fields(FrameHead) if field.name != "tiles"}
    return LiveFrame(message.number, message.image, message.age_s, FrameHead(**values, tiles=tiles), message.note)


assert set(_PLAIN) < {field.name for field in fields(RunRecord)}, "trainer.proto and RunRecord have drifted apart"
