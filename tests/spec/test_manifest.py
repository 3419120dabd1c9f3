"""The manifest survives its file, and a failing write leaves the one before."""

import json
import resource
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic import config
from mosaic.errors import ConfigError
from mosaic.spec import manifest
from mosaic.spec.manifest import Artifact, ArtifactKind, Manifest
from mosaic.spec.run_dir import Home, RunDir

RUN = "01K9CG05J5Y0FFQMT1T920EZK2"


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    run_dir = Home(tmp_path).run(RUN)
    run_dir.create()
    return run_dir


@settings(max_examples=50)
@given(st.builds(Manifest, run_id=..., mode=..., algo=..., env_id=..., seed=..., label=..., artifacts=...))
def test_every_manifest_survives_json(value: Manifest) -> None:
    assert config.from_json_text(Manifest, json.dumps(config.to_json(value))) == value


def test_what_was_written_is_read(run_dir: RunDir) -> None:
    value = Manifest(run_id=RUN, algo="ppo", env_id="CartPole-v1", label="a, b é")
    for kind in get_args(ArtifactKind):
        value = value.adding(Artifact(kind=kind, path=f"{kind}/x", global_step=3, label="best"))
    manifest.write(run_dir, value)
    assert manifest.read(run_dir) == value
    assert run_dir.manifest.read_text().endswith("}\n")


def test_adding_keeps_the_order_and_replaces_the_same_path() -> None:
    first, second = Artifact(kind="log", path="a"), Artifact(kind="video", path="b")
    value = Manifest(run_id=RUN).adding(first).adding(second)
    assert value.artifacts == (first, second)
    newer = Artifact(kind="log", path="a", global_step=9)
    assert value.adding(newer).artifacts == (second, newer)
    assert value.artifacts == (first, second)


def test_removing_takes_a_path_out_and_ignores_one_that_is_not_there() -> None:
    value = Manifest(run_id=RUN).adding(Artifact(kind="checkpoint", path="checkpoints/step-1"))
    assert value.removing("checkpoints/step-1").artifacts == ()
    assert value.removing("elsewhere") == value


def test_a_failing_write_leaves_the_old_manifest_and_no_temporary_file(run_dir: RunDir) -> None:
    old = Manifest(run_id=RUN)
    manifest.write(run_dir, old)
    before = sorted(run_dir.root.iterdir())
    grown = old
    for index in range(300):
        grown = grown.adding(Artifact(kind="video", path=f"videos/{index}.mp4"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # The kernel's limit on the size of a file stands for a full disk; it bites for root too.
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            manifest.write(run_dir, grown)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert manifest.read(run_dir) == old
    assert sorted(run_dir.root.iterdir()) == before


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({}, "run_id"),
        ({"run_id": RUN, "v": 2}, "v"),
        ({"run_id": RUN, "more": 1}, "more"),
        ({"run_id": RUN, "artifacts": [{"kind": "cake", "path": "x"}]}, "artifacts.0.kind"),
        ({"run_id": RUN, "artifacts": [{"kind": "log", "path": "x"}, {"kind": "log"}]}, "artifacts.1.path"),
        ({"run_id": RUN, "artifacts": [{"kind": "log", "path": "x", "global_step": -1}]}, "artifacts.0.global_step"),
    ],
)
def test_a_broken_manifest_names_the_file_and_the_field(data: object, path: str, run_dir: RunDir) -> None:
    run_dir.manifest.write_text(json.dumps(data))
    with pytest.raises(ConfigError) as caught:
        manifest.read(run_dir)
    assert [problem.path for problem in caught.value.problems] == [path]
    assert str(run_dir.manifest) in str(caught.value)


def test_a_torn_manifest_is_a_config_error(run_dir: RunDir) -> None:
    run_dir.manifest.write_text('{"v": 1, "run_')
    with pytest.raises(ConfigError, match="not JSON"):
        manifest.read(run_dir)
