"""Models without a window: curves, list, log, selection."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication

from mosaic.gui.models.background_work import BackgroundWork
from mosaic.gui.models.charts.series import Series, reduced, trailing_mean
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.daemon.daemon_listener import DaemonListener
from mosaic.gui.models.daemon.gathered_messages import Gathered
from mosaic.gui.models.daemon.news import Batch, Notice, Points
from mosaic.gui.models.daemon.news_feed import NewsFeed
from mosaic.gui.models.runs.runs_model import RunsModel
from mosaic.gui.models.studio import MOST_DRAWN, Studio
from mosaic.gui.models.wording import duration, name_of, number, size, thousands, title_of
from mosaic.rpc.client import Client, Stream
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

pytestmark = pytest.mark.usefixtures("application")
STRICT = QAbstractItemModelTester.FailureReportingMode.Fatal


def a_record(run_id: str = "", *, env_id: str = "CartPole-v1", label: str = "") -> RunRecord:
    return RunRecord(run_id=run_id or new_run_id(), algo="ppo", env_id=env_id, label=label, state=RunState.FINISHED)


def test_a_trailing_mean_is_that_of_a_plain_loop() -> None:
    values = np.random.default_rng(1).normal(size=50)
    values[[3, 17]] = np.nan, np.inf
    expected = [np.mean([v for v in values[max(0, i - 6) : i + 1] if np.isfinite(v)]) for i in range(50)]
    np.testing.assert_allclose(trailing_mean(values, 7), expected)
    assert trailing_mean(values, 1) is values


def test_a_reduced_curve_keeps_every_extreme_and_few_points() -> None:
    generator = np.random.default_rng(2)
    x, y = np.arange(100_000.0), generator.normal(size=100_000)
    y[[123, 77_777]] = 40, -40
    drawn = reduced(x, y, -np.inf, np.inf, 500)
    assert len(drawn.x) <= 2 * 500 + 4
    assert (drawn.y.max(), drawn.y.min()) == (40, -40)
    assert (np.diff(drawn.x) > 0).all()
    assert (drawn.x[0], drawn.x[-1]) == (0, 99_999)


def test_a_zoom_shows_every_point_of_its_part() -> None:
    x = np.arange(100_000.0)
    drawn = reduced(x, x * 2, 50_000.5, 50_100.5, 500)
    assert drawn.x.tolist() == list(range(50_000, 50_102))


def test_what_is_not_finite_is_a_gap() -> None:
    drawn = reduced(np.arange(4.0), np.array([1.0, np.nan, np.inf, 2.0]), -np.inf, np.inf, 100)
    np.testing.assert_array_equal(drawn.y, [1.0, np.nan, np.nan, 2.0])


def test_a_series_grows_without_touching_what_was_handed_out() -> None:
    series = Series()
    series.extend(Points([1.0], [1.0], [5.0]))
    before = series.values
    series.extend(Points(list(range(2, 1000)), [0.0] * 998, [0.0] * 998))
    assert (len(series), before.tolist()) == (999, [5.0])


def test_runs_are_listed_newest_first_and_keep_the_rules_of_qt() -> None:
    runs, ids = RunsModel(), sorted(new_run_id() for _ in range(6))
    tester = QAbstractItemModelTester(runs, STRICT)
    runs.take([a_record(ids[index]) for index in (3, 0, 5, 1)])
    runs.take([a_record(ids[2]), a_record(ids[3], label="renamed"), a_record(ids[4], env_id="Pong-v5")])
    assert [record.run_id for record in runs.records()] == ids[::-1]
    runs.remove([ids[0], ids[5], new_run_id()])
    assert [record.run_id for record in runs.matching("pong")] == [ids[4]]
    assert tester.model() is runs


def test_a_notice_is_told_once() -> None:
    runs, record = RunsModel(), a_record()
    runs.take([record])
    assert runs.add_notice(record.run_id, "odd")
    assert not runs.add_notice(record.run_id, "odd")
    assert list(runs.notices(record.run_id)) == ["odd"]


class DeafFeed(NewsFeed):
    """Hears nothing, and remembers what it was asked for."""

    def __init__(self, link: DaemonLink) -> None:
        super().__init__(link)
        self.opened: list[tuple[str, ...]] = []

    def open(self, run_ids: tuple[str, ...]) -> None:
        self.opened.append(run_ids)


@pytest.fixture
def feed(tmp_path: Path) -> DeafFeed:
    return DeafFeed(DaemonLink(Home(tmp_path)))


@pytest.fixture
def studio(tmp_path: Path, feed: DeafFeed) -> Studio:
    return Studio(Home(tmp_path), feed, DaemonLink(Home(tmp_path)))


def test_a_run_keeps_its_colour_while_others_come_and_go(studio: Studio, feed: DeafFeed) -> None:
    a, b, c = (a_record() for _ in range(3))
    studio.take(Batch(records=(a, b, c)))
    studio.select([a.run_id, b.run_id])
    colour = studio.colour_of(b.run_id)
    studio.select([b.run_id, c.run_id])
    assert (studio.colour_of(b.run_id), studio.current) == (colour, b.run_id)
    assert studio.colour_of(c.run_id) != colour
    assert feed.opened[-1] == (b.run_id, c.run_id)


def test_a_run_that_is_gone_is_unselected_and_told(studio: Studio) -> None:
    told: list[Notice] = []
    studio.noticed.connect(told.append)
    a, b = a_record(), a_record()
    studio.take(Batch(records=(a, b)))
    studio.select([a.run_id, b.run_id])
    studio.take(Batch(removed=(a.run_id,)))
    assert (list(studio.selected), studio.current) == ([b.run_id], b.run_id)
    assert "gone" in told[0].message


def test_a_huge_selection_is_drawn_in_part_and_says_so(studio: Studio) -> None:
    told: list[Notice] = []
    studio.noticed.connect(told.append)
    studio.select([new_run_id() for _ in range(MOST_DRAWN + 50)])
    assert len(studio.selected) == MOST_DRAWN
    assert f"{MOST_DRAWN} of the {MOST_DRAWN + 50}" in told[0].message


def test_an_error_while_hearing_is_a_notice_and_the_thread_lives_on(
    application: QApplication, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Connected(DaemonLink):
        client = object()  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride] (there is no daemon)

    told: list[str] = []
    calls: list[object] = []

    def fail(listener: DaemonListener, client: Client) -> float:
        calls.append(client)
        raise OSError("the disk is gone")

    listener = DaemonListener("failing", Connected(Home(tmp_path)), fail, told.append)
    listener.start(BackgroundWork())
    while len(calls) < 2:
        listener.turn()
        time.sleep(0.01)
    listener.stop()
    listener.join(5)
    assert len(told) == 1
    assert "the disk is gone" in told[0]
    said = capsys.readouterr()
    assert (said.out + said.err).count("hearing.failed") == 1


def test_messages_that_come_in_a_burst_are_handed_over_in_lists() -> None:
    class Burst:
        def __init__(self) -> None:
            self._numbers = iter(range(5000))

        def __iter__(self) -> "Burst":
            return self

        def __next__(self) -> int:
            return next(self._numbers)

        def stop(self) -> None:
            pass

    lists = list(Gathered(cast("Stream[int]", Burst())))
    assert [number for each in lists for number in each] == list(range(5000))
    assert max(map(len, lists)) <= 1000


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (lambda: thousands(1_500_000), "1.5M"),
        (lambda: thousands(20_000), "20k"),
        (lambda: thousands(0.00025), "2.5e-4"),
        (lambda: thousands(0), "0"),
        (lambda: number(318.44), "318.4"),
        (lambda: number(-0.01234), "-0.0123"),
        (lambda: number(float("nan")), "nan"),
        (lambda: size(13.1 * 2**30), "13.1 GiB"),
        (lambda: duration(3725), "1 h 02 min"),
        (lambda: title_of("losses/value_loss"), "Value loss"),
        (lambda: name_of(a_record(env_id="ALE/Breakout-v5")), "ppo_breakout_s1"),
        (lambda: name_of(a_record(label="walker, seed 1")), "walker, seed 1"),
    ],
)
def test_numbers_and_names_are_said_as_users_say_them(said: Callable[[], str], expected: str) -> None:
    assert said() == expected
