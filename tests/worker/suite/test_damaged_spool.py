"""A worker goes on with a run whose files are damaged: what is whole counts, what is damaged is kept."""

import json
from pathlib import Path

import pytest
from run_directories import BODIES, healthy_lines, line_of

from cleanrl_worker.sdk.record.manifest_writer import ManifestWriter
from cleanrl_worker.sdk.record.spool import Spool
from mosaic.spec import manifest
from mosaic.spec.events import Event, EventReader, Warned
from mosaic.spec.manifest import Artifact, Manifest
from mosaic.spec.run_dir import RunDir
from mosaic.track import follow_events

RUN = "01K9CG05J5Y0FFQMT1T920EZK2"


def write(path: Path, lines: list[bytes], *, torn: bytes = b"") -> None:
    path.write_bytes(b"".join(line + b"\n" for line in lines) + torn)


def go_on(path: Path) -> EventReader:
    """Write one event behind what is there, and read everything again."""
    spool = Spool(path)
    spool.write([Event(spool.last_seq + 1, 2.0, Warned(message="here I am"))])
    spool.close()
    reader = EventReader()
    found = [*reader.read(path.read_bytes().split(b"\n")[:-1]), *reader.rest()]
    assert isinstance(found[-1].body, Warned)
    assert found[-1].body.message == "here I am"
    return reader


@pytest.mark.parametrize("damaged", [b"garbage", b"[" * 5000, line_of("4", "run.warning", {"message": "x"})])
@pytest.mark.parametrize("place", [0, 3, 10])
def test_the_sequence_goes_on_behind_damaged_lines(tmp_path: Path, damaged: bytes, place: int) -> None:
    lines = healthy_lines()
    lines[place] = damaged
    write(tmp_path / "events.jsonl", lines, torn=b'{"v":1,"seq":12,"ti')
    reader = go_on(tmp_path / "events.jsonl")
    assert (reader.damaged, reader.last_seq) == (1, 12)


def test_the_attempts_are_counted_though_a_start_is_damaged(tmp_path: Path) -> None:
    started = BODIES["run.started"]
    write(tmp_path / "events.jsonl", [b"?", line_of(2, "run.started", started | {"attempt": 2})])
    spool = Spool(tmp_path / "events.jsonl")
    spool.close()
    assert (spool.last_seq, spool.attempts) == (2, 2)


def test_a_spool_of_zeros_is_begun_anew(tmp_path: Path) -> None:
    write(tmp_path / "events.jsonl", [], torn=b"\0" * 3_000_000)
    spool = Spool(tmp_path / "events.jsonl")
    spool.close()
    assert (spool.last_seq, (tmp_path / "events.jsonl").stat().st_size) == (0, 0)


def test_a_damaged_manifest_is_kept_and_gone_on_with(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path / RUN)
    run_dir.create()
    (run_dir.root / "runs/x").mkdir(parents=True)
    (run_dir.root / "runs/x/ppo.cleanrl_model").write_bytes(b"")
    run_dir.manifest.write_text(json.dumps({"v": 1, "run_id": RUN, "label": "mine", "seed": "x", "artifacts": [7]}))
    manifest_writer = ManifestWriter(run_dir, Manifest(run_id=RUN))
    manifest_writer.add(Artifact(kind="video", path="videos/a.mp4"))
    whole = manifest.read(run_dir)
    assert whole.label == "mine"
    assert [artifact.path for artifact in whole.artifacts] == ["runs/x/ppo.cleanrl_model", "videos/a.mp4"]
    assert json.loads(run_dir.damaged_manifest.read_bytes())["seed"] == "x"


def test_an_exporter_follows_past_damaged_lines(tmp_path: Path) -> None:
    run_dir = RunDir(tmp_path / RUN)
    run_dir.create()
    lines = healthy_lines()
    lines[2], lines[6] = b"[" * 5000, lines[5]
    write(run_dir.events, lines)
    seqs = [event.seq for event in follow_events.follow(run_dir) if event is not None]
    assert seqs == [1, 2, 4, 5, 6, 8, 9, 10, 11]
    assert follow_events.last_seq(run_dir) == 11
