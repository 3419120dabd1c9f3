"""The artifacts of a real run: listed, read, played, saved; near and far, and broken."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtGui import QGuiApplication

from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.models.runs.artifacts import Kept
from mosaic.gui.tabs.artifacts import ArtifactsTab
from mosaic.rpc.client import Client
from mosaic.rpc.locate import running_address
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord

from ..conftest import Daemon, Show, artifacts_of


def tell(told: list[str], notice: Notice) -> None:
    told.append(notice.message)


def ask(asked: list[tuple[str, int]], run_id: str, step: int) -> None:
    asked.append((run_id, step))


def first(tab: ArtifactsTab, kind: str) -> Kept:
    return next(item for item in tab.tree.items() if item.kind == kind)


def test_all_that_a_run_left_is_in_the_tree(show: Show, filmed: RunRecord) -> None:
    tab = artifacts_of(show(), filmed)
    kinds = [item.kind for item in tab.tree.items()]
    assert {"policy", "checkpoint", "video", "tensorboard", "config", "log"} <= set(kinds)
    assert "fastlane" not in kinds
    steps = [item.step for item in tab.tree.items() if item.kind == "checkpoint"]
    assert len(steps) > 1
    assert steps == sorted(steps, key=lambda step: -(step or 0))
    assert all(item.size_bytes > 0 for item in tab.tree.items() if item.kind in ("policy", "checkpoint", "video"))


def test_the_config_is_shown_as_text_and_its_path_copied(show: Show, filmed: RunRecord) -> None:
    shown = show()
    tab = artifacts_of(shown, filmed)
    assert tab.tree.select("config.json")
    shown.until(lambda: '"run_name": "filmed"' in tab.page.text.toPlainText(), "the config")
    assert tab.page.view.currentWidget() is tab.page.text
    tab.page.copy.click()
    assert QGuiApplication.clipboard().text() == f"{filmed.run_dir}/config.json"


def test_a_video_plays_seeks_and_pauses_in_place(show: Show, filmed: RunRecord) -> None:
    shown = show()
    tab = artifacts_of(shown, filmed)
    film = tab.page.film
    longest = max((item for item in tab.tree.items() if item.kind == "video"), key=lambda item: item.size_bytes)
    tab.tree.select(longest.path)
    shown.until(lambda: film.reader is not None and film.reader.position_s > 0.1, "the film to play")
    reader = film.reader
    assert reader is not None
    reader.pause()
    assert reader.duration_s > 0.1
    image = film.canvas.grab().toImage()
    assert len({image.pixel(x, image.height() // 2) for x in range(image.width())}) > 1
    half = reader.duration_s / 2
    reader.seek(half)
    shown.until(lambda: abs(reader.position_s - half) < 0.05, "the middle of the film")
    film.speed.choose("4×")
    reader.play()
    shown.until(lambda: reader.at_end, "its end")
    reader.play()
    reader.pause()  # so that it is not over before it was looked at
    shown.until(lambda: reader.position_s < reader.duration_s / 2, "its beginning again")
    reader.play()
    # Another tab in front: it must not go on playing behind it.
    shown.window.bench.bring_up("Overview")
    shown.until(lambda: not reader.playing, "the hidden film to pause")


def test_a_video_that_was_cut_off_says_so(show: Show, filmed: RunRecord, tmp_path: Path) -> None:
    shown = show()
    tab = artifacts_of(shown, filmed)
    whole = (Path(filmed.run_dir) / first(tab, "video").path).read_bytes()
    for name, content in (("cut.mp4", whole[: len(whole) // 2]), ("empty.mp4", b""), ("noise.mp4", b"\x07" * 5000)):
        broken = tmp_path / name
        broken.write_bytes(content)
        tab.page.film.open(broken)
        shown.until(lambda name=name: f"{name} cannot be played" in tab.page.film.problem.text, name)
    tab.page.film.open(tmp_path / "gone.mp4")
    shown.until(lambda: "gone.mp4 cannot be played" in tab.page.film.problem.text)


def test_a_checkpoint_offers_to_go_on_from_it(show: Show, filmed: RunRecord) -> None:
    tab = artifacts_of(show(), filmed)
    asked: list[tuple[str, int]] = []
    tab.resume_asked.connect(partial(ask, asked))
    checkpoint = first(tab, "checkpoint")
    tab.tree.select(checkpoint.path)
    assert tab.page.resume.isVisible()
    tab.page.resume.click()
    assert asked == [(filmed.run_id, checkpoint.step)]
    tab.tree.select("config.json")
    assert not tab.page.resume.isVisible()


def test_a_far_daemon_sends_videos_and_files(show: Show, filmed: RunRecord, daemon_home: Home, tmp_path: Path) -> None:
    shown = show(link=DaemonLink(daemon_home, target=running_address(daemon_home)))
    tab = artifacts_of(shown, filmed)
    video = first(tab, "video")
    tab.tree.select(video.path)
    shown.until(lambda: tab.page.film.reader is not None and tab.page.film.reader.image is not None, "the film")
    reader = tab.page.film.reader
    assert reader is not None
    assert not reader.path.is_relative_to(filmed.run_dir)
    assert not tab.page.open.isVisible()
    target = tmp_path / "kept" / "mine.mp4"
    told: list[str] = []
    shown.studio.noticed.connect(partial(tell, told))
    tab.page.save_to(target)
    shown.until(lambda: told, "the saved file")
    assert target.read_bytes() == (Path(filmed.run_dir) / video.path).read_bytes()
    fetched = reader.path
    shown.window.close()
    assert not fetched.exists()


def test_a_daemon_that_dies_leaves_the_list_and_answers_again(
    show: Show, home: Home, start_daemon: Callable[..., Daemon]
) -> None:
    daemon = start_daemon(home)
    with Client(home=home, start=False) as client:
        run = client.wait(client.train("ppo", env_id="CartPole-v1", total_timesteps=2048)[0].run_id)[0]
    shown = show(link=DaemonLink(home, target=running_address(home)))
    tab = artifacts_of(shown, run)
    daemon.kill()
    shown.until(lambda: shown.studio.link.state == "lost", "the daemon to be missed")
    assert tab.tree.items()
    tab.tree.select("config.json")
    shown.until(lambda: "does not answer" in tab.page.blank.text, "the reason")
    daemon.start()
    shown.until(lambda: shown.studio.link.state == "connected")
    tab.tree.select(first(tab, "policy").path)
    tab.tree.select("config.json")
    shown.until(lambda: '"env_id": "CartPole-v1"' in tab.page.text.toPlainText(), "the config")
