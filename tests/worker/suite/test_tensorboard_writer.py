"""TensorBoard's own reader and protobufs read what our writer writes, byte for byte."""

import math
import struct
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto import event_pb2
from tensorboard.compat.proto.types_pb2 import DT_STRING
from worker_runs import board_of

from cleanrl_worker.sdk.record.tensorboard_writer import TensorBoard, board_folder, markdown_table
from mosaic.errors import HomeUnusable, UnsafePath
from mosaic.spec.events import Episode, Event, Heartbeat, Scalars
from mosaic.spec.run_dir import RunDir


def scalars(step: int, **values: float) -> Event:
    return Event(1, 1000.5, Scalars(global_step=step, values={f"losses/{tag}": value for tag, value in values.items()}))


def records(folder: Path) -> list[event_pb2.Event]:
    """Every record, its checksums verified by TensorBoard's loader, in the order of the files."""
    return [
        event_pb2.Event.FromString(raw)
        for file in sorted(folder.iterdir())
        for raw in RawEventFileLoader(str(file)).Load()
    ]


def test_the_reader_gets_the_values_at_their_steps(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path, hyperparameters="|a|b|")
    board.write([scalars(3, td_loss=0.25, q_values=-1e-9), scalars(2**40, td_loss=1.5)])
    episode = Episode(global_step=5, slot=1, episodic_return=21.0, episodic_length=21)
    board.write([Event(2, 1001.0, episode), Event(3, 1001.0, Heartbeat(global_step=6, steps_per_s=1.0))])
    board.close()
    read = board_of(tmp_path)
    assert [(p.wall_time, p.step, p.value) for p in read.Scalars("losses/td_loss")] == [
        (1000.5, 3, 0.25),
        (1000.5, 2**40, 1.5),
    ]
    assert read.Scalars("losses/q_values")[0].value == struct.unpack("<f", struct.pack("<f", -1e-9))[0]
    assert [(p.step, p.value) for p in read.Scalars("charts/episodic_return")] == [(5, 21.0)]
    assert [(p.step, p.value) for p in read.Scalars("charts/episodic_length")] == [(5, 21.0)]
    assert len(read.Tags()["scalars"]) == 4


def test_every_byte_is_what_the_protobuf_library_would_write(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path, hyperparameters="|param|value|", resumed_from_step=300)
    board.write([scalars(301, td_loss=0.5), scalars(0, td_loss=0.5)])
    board.close()
    [file] = tmp_path.iterdir()
    raws = list(RawEventFileLoader(str(file)).Load())
    for raw in raws:
        assert event_pb2.Event.FromString(raw).SerializeToString(deterministic=True) == raw
    version, session, text, scalar, at_zero = records(tmp_path)
    assert version.file_version == "brain.Event:2"
    assert (session.step, session.session_log.status) == (301, event_pb2.SessionLog.START)
    [value] = text.summary.value
    assert (value.tag, value.metadata.plugin_data.plugin_name) == ("hyperparameters/text_summary", "text")
    assert (value.tensor.dtype, value.tensor.string_val[0]) == (DT_STRING, b"|param|value|")
    assert [dim.size for dim in value.tensor.tensor_shape.dim] == [1]
    assert (scalar.step, scalar.summary.value[0].tag) == (301, "losses/td_loss")
    assert (text.step, at_zero.step) == (300, 0)


@pytest.mark.parametrize(
    ("value", "read"),
    [(math.inf, math.inf), (-math.inf, -math.inf), (1e39, math.inf), (-1e39, -math.inf), (1e-50, 0.0)],
)
def test_numbers_beyond_32_bits_become_what_they_mean(value: float, read: float, tmp_path: Path) -> None:
    board = TensorBoard(tmp_path, hyperparameters="")
    board.write([scalars(1, x=value)])
    board.close()
    assert board_of(tmp_path).Scalars("losses/x")[0].value == read


def test_numbers_that_json_cannot_carry_are_read_from_their_names(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path, hyperparameters="")
    board.write([Event(1, 0.0, Scalars(global_step=1, values={"losses/x": "nan"}))])
    board.close()
    assert math.isnan(board_of(tmp_path).Scalars("losses/x")[0].value)


def test_after_a_resume_later_points_of_earlier_files_are_gone(tmp_path: Path) -> None:
    first = TensorBoard(tmp_path, hyperparameters="first")
    first.write([scalars(step, x=1.0) for step in (10, 20, 30, 40)])
    first.close()
    second = TensorBoard(tmp_path, hyperparameters="second", resumed_from_step=20)
    second.write([scalars(step, x=2.0) for step in (30, 40, 50)])
    second.close()
    points = board_of(tmp_path).Scalars("losses/x")
    assert [(point.step, point.value) for point in points] == [(10, 1), (20, 1), (30, 2), (40, 2), (50, 2)]
    texts = board_of(tmp_path).Tensors("hyperparameters/text_summary")
    assert [(text.step, text.tensor_proto.string_val[0]) for text in texts] == [(0, b"first"), (20, b"second")]


def test_after_a_start_over_no_point_of_the_earlier_file_is_left(tmp_path: Path) -> None:
    first = TensorBoard(tmp_path, hyperparameters="first")
    first.write([scalars(10, x=1.0)])
    first.close()
    second = TensorBoard(tmp_path, hyperparameters="second", resumed_from_step=0)
    second.write([scalars(10, x=2.0)])
    second.close()
    assert [(point.step, point.value) for point in board_of(tmp_path).Scalars("losses/x")] == [(10, 2.0)]


def test_a_file_that_a_kill_cut_off_does_not_hide_the_next_one(tmp_path: Path) -> None:
    first = TensorBoard(tmp_path, hyperparameters="")
    first.write([scalars(10, x=1.0), scalars(20, x=1.0)])
    first.close()
    [file] = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-7])
    second = TensorBoard(tmp_path, hyperparameters="", resumed_from_step=10)
    second.write([scalars(20, x=2.0)])
    second.close()
    assert [(p.step, p.value) for p in board_of(tmp_path).Scalars("losses/x")] == [(10, 1.0), (20, 2.0)]


def test_the_table_is_cleanrls() -> None:
    assert markdown_table({"seed": 1, "gamma": 0.99}) == "|param|value|\n|-|-|\n|seed|1|\n|gamma|0.99|"


def test_the_folder_is_the_runs_own_unless_the_variable_says_otherwise(
    run_dir: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert board_folder(run_dir, "tensorboard") == run_dir.tensorboard.resolve()
    with pytest.raises(UnsafePath):
        board_folder(run_dir, "../elsewhere")
    monkeypatch.setenv("CLEANRL_TENSORBOARD_DIR", str(tmp_path / "boards"))
    assert board_folder(run_dir, "tensorboard") == tmp_path / "boards"


def test_a_folder_that_cannot_be_made_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(HomeUnusable, match=r"TensorBoard folder .* cannot be written: Not a directory"):
        TensorBoard(tmp_path / "file" / "board", hyperparameters="")
