"""Nothing that a link in a run directory leads to leaves the machine: exports, uploads, TensorBoard, copies."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from planted_runs import Artifact, file_in, plant

from mosaic.cli.runs import export
from mosaic.errors import UnsafePath
from mosaic.spec.events import PolicySaved, VideoSaved
from mosaic.spec.run_dir import Home, RunDir
from mosaic.track import tensorboard_links, wandb_sync
from mosaic.track.mlflow_exporter import MlflowExporter
from mosaic.track.tensorboard_links import BoardRun
from mosaic.track.wandb_exporter import WandbExporter


class Server:
    """Takes files, and remembers them."""

    def __init__(self) -> None:
        self.got: list[str] = []

    def log_artifact(self, _: str, path: str, __: str) -> None:
        self.got.append(Path(path).name)


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.mp4").write_text("canary")
    home = Home(tmp_path / "home")
    home.create()
    paths = ("tensorboard", "linked", str(outside), "../../../../outside")
    made = plant(home, *(Artifact(kind="tensorboard", path=path) for path in paths))
    file_in(made, "videos/own.mp4")
    (made.root / "videos/link.mp4").symlink_to(outside / "secret.mp4")
    (made.root / "linked").symlink_to(outside)
    return made


NAMED = ("videos/own.mp4", "videos/link.mp4", "linked/secret.mp4", "../../../../outside/secret.mp4", "{}/secret.mp4")


def named(run_dir: RunDir) -> list[str]:
    return [name.format(run_dir.root.parents[3] / "outside") for name in NAMED]


def test_an_export_to_mlflow_takes_files_of_the_run_alone(run_dir):
    exporter: Any = object.__new__(MlflowExporter)
    exporter._run_dir, exporter._client, exporter.run_id, exporter.refused = run_dir, Server(), "run", []
    for name in named(run_dir):
        assert name == NAMED[0] or Path(run_dir.root / name).exists()
        exporter._add_file(VideoSaved(path=name, episode_id=1, episodic_return=1.0, episodic_length=1))
        exporter._add_file(PolicySaved(path=name, global_step=1))
    assert exporter._client.got == ["own.mp4", "own.mp4"]


def test_an_export_to_wandb_takes_files_of_the_run_alone(run_dir, monkeypatch):
    exporter: Any = object.__new__(WandbExporter)
    exporter._run_dir, exporter.refused = run_dir, []
    taken: list[str] = []
    monkeypatch.setattr(exporter, "_add_video", lambda path, _, __: taken.append(path.name), raising=False)
    for name in named(run_dir):
        body = VideoSaved(path=name, episode_id=1, episodic_return=1.0, episodic_length=1)
        exporter._add_file(SimpleNamespace(time=1.0), body)
    assert taken == ["own.mp4"]


def test_an_upload_of_a_folder_with_a_link_out_of_the_run_is_refused(run_dir):
    folder = run_dir.root / "wandb/wandb/offline-run-1"
    file_in(run_dir, "wandb/wandb/offline-run-1/files/config.yaml")
    (folder / "latest").symlink_to("files")
    wandb_sync._check_links(run_dir, folder)
    (folder / "files/secret.mp4").symlink_to(run_dir.root.parents[3] / "outside/secret.mp4")
    with pytest.raises(wandb_sync.SyncFailed, match=r"files/secret.mp4 is a link that leads out of run"):
        wandb_sync._check_links(run_dir, folder)


def test_tensorboard_is_shown_folders_of_the_run_alone(run_dir):
    links = tensorboard_links.links_of([BoardRun("run", str(run_dir.root))])
    assert list(links.values()) == [run_dir.tensorboard]


@pytest.mark.parametrize("name", ["../beside", "/etc/cron.d/x", "a/../../b"])
def test_a_copy_is_written_nowhere_else_whatever_the_daemon_lists(name):
    daemon: Any = SimpleNamespace(files=lambda _: [name], read_artifact=lambda _, __: iter([b"x"]))
    run: Any = SimpleNamespace(run_id="run")
    with pytest.raises(UnsafePath, match="nothing was exported"):
        list(export.sources_of(daemon, run))
