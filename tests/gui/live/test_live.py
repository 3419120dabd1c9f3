"""The live view on real runs of a real daemon, near and far, and when things go away under it."""

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import av
import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtTest import QTest

from mosaic.fastlane import viewer_lease
from mosaic.fastlane.ring import RingWriter
from mosaic.fastlane.viewer_lease import Wishes
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.models.live.card_layout import arranged
from mosaic.gui.models.live.frame_source import RemoteFrames, rings_of
from mosaic.gui.tabs.live import LiveTab
from mosaic.rpc import locate
from mosaic.rpc.client import Client
from mosaic.rpc.locate import DaemonUnavailable, running_address
from mosaic.spec import manifest
from mosaic.spec.manifest import Artifact
from mosaic.spec.run_config import (
    Artifacts,
    Environment,
    Metadata,
    PolicyEvalExtras,
    TrainExtras,
    TrainRunConfig,
    Worker,
    WorkerConfig,
)
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

from ..conftest import STARTED, Daemon, HandWritten, Show, Shown

ENDLESS = 10**9
PATIENCE_S = 300.0
"""Pictures are drawn by a process of low priority: on a busy machine it gets its turn late."""


def document(extras: TrainExtras | PolicyEvalExtras, env_id: str) -> TrainRunConfig:
    worker = WorkerConfig(algo="ppo", env_id=env_id, total_timesteps=ENDLESS, seed=1, extras=extras)
    return TrainRunConfig(
        environment=Environment(env_id=env_id),
        artifacts=Artifacts(),
        metadata=Metadata(worker=Worker(config=worker)),
    )


def started(client: Client, extras: TrainExtras | PolicyEvalExtras) -> RunRecord:
    """A training takes little of the processor; an evaluation plays what its policy has learnt."""
    env_id = "resting:Resting-v0" if isinstance(extras, TrainExtras) else "CartPole-v1"
    return client.submit(document(extras, env_id))[0]


def end(client: Client, run: RunRecord) -> None:
    """Also its directory: other tests look at this daemon too."""
    if client.get(run.run_id).state not in TERMINAL:
        client.cancel(run.run_id)
        client.wait(run.run_id)
    client.delete(run.run_id)


@pytest.fixture(scope="module")
def endless(client: Client) -> Iterator[RunRecord]:
    """A run with eight environments that goes on until the last of these tests."""
    run = started(client, TrainExtras(algo_params={"num_envs": 8}))
    yield run
    end(client, run)


@pytest.fixture
def start(client: Client) -> Iterator[Callable[[TrainExtras | PolicyEvalExtras], RunRecord]]:
    made: list[RunRecord] = []

    def begin(extras: TrainExtras | PolicyEvalExtras) -> RunRecord:
        made.append(started(client, extras))
        return made[-1]

    yield begin
    for run in made:
        end(client, run)


def watching(shown: Shown, run: RunRecord) -> LiveTab:
    """The tab, with this run in it."""
    tab = shown.window.tabs["Live view"]
    assert isinstance(tab, LiveTab)
    shown.until(lambda: shown.studio.runs.get(run.run_id) is not None, "the run")
    shown.window.runs.select([run.run_id])
    shown.until(lambda: shown.studio.current == run.run_id)
    shown.window.bench.bring_up("Live view")
    return tab


def seen(shown: Shown, run: RunRecord, *, tiles: int = 8) -> LiveTab:
    tab = watching(shown, run)
    shown.until(lambda: tab.live.state == "live" and count(tab) == tiles, "pictures", PATIENCE_S)
    # The size that the tiles are shown at is asked for after the first picture.
    shown.until(lambda: len(tab.grid.cards) == tiles and fits(tab), "pictures of the right size", PATIENCE_S)
    return tab


def tell(told: list[str], notice: Notice) -> None:
    told.append(notice.message)


def count(tab: LiveTab) -> int:
    picture = tab.live.picture()
    return len(picture.head.tiles) if picture else 0


def fits(tab: LiveTab) -> bool:
    picture = tab.live.picture()
    asked = tab.live.wishes.tile_width
    return picture is not None and asked != Wishes().tile_width and abs(picture.tile_size[0] - asked) <= 0.03 * asked


def ring(shown: Shown, run: RunRecord) -> Path:
    record = shown.studio.runs.get(run.run_id)
    assert record is not None
    return rings_of(Path(record.run_dir))[0]


def colours(tab: LiveTab) -> set[str]:
    """Of the pixels of the grid, a few."""
    image = tab.grid.grab().toImage()
    return {QColor(image.pixel(x, y)).name() for x in range(0, image.width(), 7) for y in range(0, image.height(), 7)}


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 16, 64])
@pytest.mark.parametrize("place", [QRect(12, 0, 990, 330), QRect(0, 0, 300, 900), QRect(5, 5, 60, 40)])
@pytest.mark.parametrize("aspect", [1.5, 0.76])
def test_cards_lie_within_their_place_and_not_on_each_other(count: int, place: QRect, aspect: float) -> None:
    cards = arranged(count, place, aspect, gap=2)
    assert len(cards) == count
    assert all(place.adjusted(-1, -1, 1, 1).contains(card) for card in cards)
    assert not any(one.intersects(other) for one in cards for other in cards if one is not other)


def test_eight_environments_are_seen_and_no_call_is_kept_waiting(show: Show, endless: RunRecord) -> None:
    shown = show()
    tab = seen(shown, endless)
    came: list[object] = []
    tab.live.came.connect(lambda: came.append(tab.live.picture()))
    shown.until(lambda: len(came) > 3, "more pictures", PATIENCE_S)
    shown.until(lambda: tab.live.fps > 0 and len(colours(tab)) > 5, "what they show", PATIENCE_S)
    wanted = {"state": "● live", "envs": "8 envs", "step": "step ", "speed": "steps/s"}
    shown.until(lambda: all(part in tab.hud.text(name) for name, part in wanted.items()), "the numbers", PATIENCE_S)
    demand = viewer_lease.current(ring(shown, endless))
    assert demand is not None
    assert demand.wishes.tile_width <= tab.grid.width() // 4


def test_nothing_is_rendered_for_a_hidden_view(show: Show, endless: RunRecord) -> None:
    shown = show()
    tab = seen(shown, endless)
    path = ring(shown, endless)
    assert viewer_lease.current(path) is not None
    shown.window.bench.bring_up("Overview")
    shown.until(lambda: viewer_lease.current(path) is None, "the hidden tab to let go")
    shown.window.bench.bring_up("Live view")
    shown.until(lambda: tab.live.state == "live")
    shown.window.showMinimized()
    shown.until(lambda: viewer_lease.current(path) is None, "the minimised window to let go")
    shown.window.showNormal()
    shown.until(lambda: tab.live.state == "live")
    tab.live.pause(True)
    assert viewer_lease.current(path) is None
    assert (tab.live.state, tab.hud.text("state")) == ("paused", "● paused")
    assert count(tab) == 8
    frozen = tab.grid.grab().toImage()
    shown.application.processEvents()
    assert tab.grid.grab().toImage() == frozen
    tab.live.pause(False)
    shown.until(lambda: tab.live.state == "live")
    shown.window.close()
    assert viewer_lease.current(path) is None


def test_one_tile_is_focused_by_mouse_and_keys(show: Show, endless: RunRecord) -> None:
    shown = show()
    tab = seen(shown, endless)

    def alone(env: int) -> bool:
        picture = tab.live.picture()
        painted = len(tab.grid.cards) == 1
        return painted and picture is not None and not picture.head.grid and picture.head.tiles[0].env == env

    QTest.mouseClick(tab.grid, Qt.MouseButton.LeftButton, pos=tab.grid.cards[2].center())
    shown.until(lambda: alone(2), "environment 2 alone")
    shown.until(lambda: tab.hud.text("envs") == "env 2")
    QTest.keyClick(tab.grid, Qt.Key.Key_Right)
    shown.until(lambda: alone(3), "environment 3")
    QTest.keyClick(tab.grid, Qt.Key.Key_Escape)
    shown.until(lambda: len(tab.grid.cards) == 8, "the grid")
    columns = sum(card.top() == tab.grid.cards[0].top() for card in tab.grid.cards)
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Return):
        QTest.keyClick(tab.grid, key)
    below = min(1 + columns, 7)
    shown.until(lambda: alone(below), f"environment {below}")
    QTest.mouseClick(tab.grid, Qt.MouseButton.LeftButton, pos=tab.grid.rect().center())
    shown.until(lambda: count(tab) == 8, "the grid again")


def test_the_last_pictures_stay_when_a_run_has_ended(
    show: Show, trained: RunRecord, client: Client, start: Callable[[TrainExtras], RunRecord]
) -> None:
    run = start(TrainExtras(algo_params={"num_envs": 2}))
    shown = show()
    tab = seen(shown, run, tiles=2)
    QTest.mouseClick(tab.grid, Qt.MouseButton.LeftButton, pos=tab.grid.cards[1].center())
    shown.until(lambda: count(tab) == 1, "one environment")
    client.cancel(run.run_id)
    shown.until(lambda: tab.live.state == "ended", "the end")
    assert tab.hud.text("state") == "● ended"
    assert tab.grid.isVisible()
    # The single one is left: the grid as it was seen last.
    QTest.keyClick(tab.grid, Qt.Key.Key_Escape)
    shown.until(lambda: count(tab) == 2, "the grid")
    # And it is there again after another run was looked at.
    shown.window.runs.select([trained.run_id])
    shown.until(lambda: tab.live.picture() is None, "the other run")
    shown.window.runs.select([run.run_id])
    shown.until(lambda: count(tab) == 2, "what was seen last")


def test_snapshots_and_clips_are_files_that_are_named(show: Show, endless: RunRecord, daemon_home: Home) -> None:
    shown = show()
    tab = seen(shown, endless)
    told: list[str] = []
    shown.studio.noticed.connect(partial(tell, told))
    tab.save_snapshot()
    shown.until(lambda: told, "the snapshot")
    picture = QImage(told[0].removeprefix("saved "))
    shown_now = tab.live.picture()
    assert shown_now is not None
    assert picture.size() == shown_now.image.size()
    assert Path(told[0].removeprefix("saved ")).parent == daemon_home.root / "gui" / "snapshots"
    tab.toggle_clip()
    clip = tab.clip
    assert clip is not None
    shown.until(lambda: clip.pictures >= 3, "three pictures")
    # A clip goes on while another tab is looked at.
    shown.window.bench.bring_up("Overview")
    shown.until(lambda: clip.pictures >= 6, "three more")
    tab.toggle_clip()
    shown.until(lambda: len(told) > 1, "the clip")
    container: Any = av.open(told[1].removeprefix("saved "))
    with container:
        frames = list(container.decode(video=0))
    assert len(frames) == clip.pictures
    assert float(frames[-1].time) > 0.1
    assert viewer_lease.current(ring(shown, endless)) is None


def test_a_frozen_view_goes_on_by_one_picture(show: Show, endless: RunRecord) -> None:
    shown = show()
    tab = seen(shown, endless)
    QTest.keyClick(tab.grid, Qt.Key.Key_P)
    assert tab.live.state == "paused"
    assert viewer_lease.current(ring(shown, endless)) is None
    before = tab.live.picture()
    assert before is not None
    QTest.keyClick(tab.grid, Qt.Key.Key_N)
    shown.until(lambda: tab.live.paused, "the next picture")
    after = tab.live.picture()
    assert after is not None
    assert after.number > before.number
    assert after.head.global_step > before.head.global_step
    assert viewer_lease.current(ring(shown, endless)) is None
    QTest.keyClick(tab.grid, Qt.Key.Key_P)
    shown.until(lambda: tab.live.state == "live", "the view to go on")


def test_the_tile_under_the_pointer_is_asked_for_at_the_full_rate(show: Show, endless: RunRecord) -> None:
    shown = show()
    tab = seen(shown, endless)
    QTest.mouseMove(tab.grid, tab.grid.cards[5].center())
    path = ring(shown, endless)

    def favoured() -> int | None:
        demand = viewer_lease.current(path)
        return None if demand is None else demand.wishes.slot

    shown.until(lambda: favoured() == 5, "the wish")
    assert count(tab) == 8
    QTest.keyClick(tab.grid, Qt.Key.Key_Right)
    shown.until(lambda: favoured() == 6, "the wish of the keys")
    QTest.mouseMove(tab.grid, QPoint(1, 1))
    shown.until(lambda: favoured() is None, "no wish")


def test_what_the_agent_sees_and_expects_is_read_beside_the_tiles(show: Show, endless: RunRecord) -> None:
    shown = show()
    tab = seen(shown, endless)
    assert not tab.overlay.isVisible()
    tab.grid.setFocus()
    QTest.keyClick(tab.grid, Qt.Key.Key_E)
    shown.until(tab.overlay.isVisible, "what the agent sees", PATIENCE_S)
    assert tab.overlay.title.text().startswith("env 0, step ")
    assert tab.overlay.value.text().startswith("value ")
    assert tab.overlay.bars.line_count > 2, "probabilities and the observation"
    shown.until(lambda: all(card.right() < tab.overlay.x() for card in tab.grid.cards), "room beside the tiles")
    QTest.mouseMove(tab.grid, tab.grid.cards[3].center())
    shown.until(lambda: tab.overlay.title.text().startswith("env 3, "), "the one under the pointer", PATIENCE_S)
    QTest.keyClick(tab.grid, Qt.Key.Key_E)
    assert not tab.overlay.isVisible()
    shown.until(lambda: (picture := tab.live.picture()) is not None and not picture.head.about, "nothing is told more")


def test_the_numbers_can_be_in_what_is_kept(show: Show, endless: RunRecord) -> None:
    shown = show()
    tab = seen(shown, endless)
    told: list[str] = []
    shown.studio.noticed.connect(partial(tell, told))
    tab.live.pause(True)
    plain = tab.live.picture()
    assert plain is not None
    tab.burn.setChecked(True)
    tab.save_snapshot()
    shown.until(lambda: told, "the snapshot")
    kept = QImage(told[0].removeprefix("saved "))
    assert kept.width() == plain.image.width()
    assert plain.image.height() < kept.height() <= plain.image.height() + 60
    assert kept.height() % 2 == 0
    kept.save("/tmp/alerts-shots/burnt.png")


def test_full_screen_and_back(show: Show, endless: RunRecord) -> None:
    shown = show()
    tab = seen(shown, endless)
    tab.toggle_full_screen()
    assert tab.page.isFullScreen()
    shown.until(lambda: tab.live.state == "live")
    QTest.keyClick(tab.page, Qt.Key.Key_Escape)
    assert not tab.page.isWindow()
    assert tab.page.isVisible()
    shown.until(lambda: tab.live.state == "live")


def test_a_daemon_far_away_sends_the_pictures(show: Show, endless: RunRecord, daemon_home: Home) -> None:
    shown = show(link=DaemonLink(daemon_home, target=running_address(daemon_home)))
    tab = seen(shown, endless)
    assert isinstance(tab.live._look, RemoteFrames)  # pyright: ignore[reportPrivateUsage]
    assert len(colours(tab)) > 5
    tab.live.focus(4)
    shown.until(lambda: count(tab) == 1, "one environment")
    path = ring(shown, endless)
    shown.window.bench.bring_up("Overview")
    shown.until(lambda: viewer_lease.current(path) is None, "the daemon to let go")


def test_an_evaluation_says_so_with_its_last_batch(
    show: Show, trained: RunRecord, client: Client, start: Callable[[PolicyEvalExtras], RunRecord]
) -> None:
    policy = next(found for found in client.artifacts(trained.run_id) if found.kind == "policy")
    path = str(Path(trained.run_dir) / policy.path)
    run = start(PolicyEvalExtras(mode="policy_eval", policy_path=path, eval_episodes=3, eval_repeat=True))
    shown = show()
    tab = watching(shown, run)
    shown.until(lambda: tab.hud.text("state") == "● live (Eval)", "pictures of the evaluation")
    shown.until(lambda: "batch" in tab.line.text(), "the line of a batch")


def test_a_run_without_a_live_view_says_so(show: Show, start: Callable[[TrainExtras], RunRecord]) -> None:
    shown = show()
    tab = watching(shown, start(TrainExtras(fastlane_enabled=False)))
    shown.until(lambda: tab.blank.text == "This run was started with its live view off.", tab.blank.text)


def test_an_environment_that_cannot_be_drawn_says_so(show: Show, client: Client, daemon_home: Home) -> None:
    ring = RingWriter.create(max_pixels=100)
    ring.note("no live view: render() raised NotImplementedError()")
    run = HandWritten(daemon_home)
    run.write(STARTED)
    announced = manifest.read(run.run_dir).adding(Artifact(kind="fastlane", path=str(ring.path)))
    manifest.write(run.run_dir, announced)
    run.live().publish()
    shown = show()
    shown.until(lambda: shown.studio.runs.get(run.run_id) is not None, "the run")
    tab = watching(shown, client.get(run.run_id))
    shown.until(lambda: tab.blank.text == "no live view: render() raised NotImplementedError()", "the reason")
    run.die()
    ring.close()
    shown.until(lambda: tab.live.state == "ended", "the end")
    client.delete(run.run_id)


def test_the_picture_stays_when_the_run_ends(
    show: Show, client: Client, start: Callable[[TrainExtras], RunRecord]
) -> None:
    run = start(TrainExtras(algo_params={"num_envs": 4}))
    shown = show()
    tab = seen(shown, run, tiles=4)
    client.cancel(run.run_id)
    shown.until(lambda: tab.live.state == "ended", "the end")
    assert tab.hud.text("state") == "● ended"
    assert tab.live.picture() is not None
    assert len(colours(tab)) > 5
    shown.window.runs.select([])
    shown.until(lambda: tab.blank.isVisible() and tab.blank.text == "Select a run on the left.")


def test_a_killed_worker_and_a_removed_ring_leave_words(
    show: Show, client: Client, start: Callable[[TrainExtras], RunRecord]
) -> None:
    run = start(TrainExtras(algo_params={"num_envs": 4}))
    shown = show()
    tab = seen(shown, run, tiles=4)
    ring(shown, run).unlink()
    shown.until(lambda: tab.live.state == "waiting", "the ring to be missed")
    assert tab.live.picture() is not None
    os.kill(client.get(run.run_id).pid, signal.SIGKILL)
    shown.until(lambda: tab.live.state == "ended", "the worker to be missed")


def refused(*_: object) -> None:
    raise DaemonUnavailable("no window starts a daemon in this test")


def test_a_daemon_that_dies_is_not_needed_near_and_waited_for_far(
    show: Show, home: Home, start_daemon: Callable[..., Daemon], monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon = start_daemon(home)
    address = running_address(home)
    with Client(home=home, start=False) as client:
        run = started(client, TrainExtras(algo_params={"num_envs": 4}))
    near, far = show(home), show(link=DaemonLink(home, target=address))
    near_tab, far_tab = watching(near, run), watching(far, run)
    far.until(lambda: near_tab.live.state == far_tab.live.state == "live", "pictures in both", PATIENCE_S)
    with monkeypatch.context() as patch:
        # The near window may ask for something just then, and would bring the daemon back.
        patch.setattr(locate, "_start", refused)
        daemon.kill()
        far.until(lambda: far_tab.live.state == "waiting", "the pictures to stop")
        assert far_tab.live.picture() is not None
        far.until(lambda: "does not answer" in far_tab.line.text(), "the reason")
        assert near_tab.live.state == "live"
    daemon.start()
    far.until(lambda: far_tab.live.state == "live", "the pictures to go on")
