"""The live view of a run: nothing without a viewer, then what is asked for, and never a fault of the run."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cleanrl_worker.sdk.live import open_live_view, plain_view, twin_view
from cleanrl_worker.sdk.live.plain_view import PlainView
from cleanrl_worker.sdk.live.twin_view import TwinView
from cleanrl_worker.sdk.vector import Envs
from mosaic import envs
from mosaic.fastlane import ring as ring_module
from mosaic.fastlane import viewer_lease
from mosaic.fastlane.ring import RingReader, RingWriter
from mosaic.fastlane.ring_layout import Frame
from mosaic.fastlane.state_table import Job
from mosaic.fastlane.tiling import fit_smoothly, layout
from mosaic.fastlane.viewer import Viewer
from mosaic.fastlane.viewer_lease import Demand, Wishes
from mosaic.spec.run_config import LiveView as Options

PATIENCE_S = 120.0
Pictures = Callable[[int], Any]


class Fake:
    """Environments that render what a test says."""

    backend = "bare"

    def __init__(
        self, num_envs: int = 4, picture: Pictures = lambda slot: np.full((40, 60, 3), slot, np.uint8)
    ) -> None:
        self.num_envs = num_envs
        self.single_observation_space = self.single_action_space = None
        self.current_obs = np.zeros((num_envs, 2), np.float32)
        self.picture = picture
        self.rendered: list[int] = []

    def step(self, _: Any) -> tuple[Any, ...]:
        return None, None, None, None, {}

    def freezer(self) -> None: ...

    def episode_so_far(self, slot: int) -> tuple[float, int]:
        return slot * 1.5, slot + 1

    def call(self, name: str) -> Any:
        raise AttributeError(name)

    def render_slot(self, slot: int) -> Any:
        self.rendered.append(slot)
        return self.picture(slot)

    def close(self) -> None: ...


class Stage:
    """A run's loop of steps in a thread of its own."""

    def __init__(self, backend: Any, **options: Any) -> None:
        self.complaints: list[str] = []
        self.lanes = Envs(backend, lambda _: None)
        view = open_live_view.open_view(
            backend, Options(**options), global_step=lambda: self.lanes.global_step, complain=self.complaints.append
        )
        assert view is not None
        self.view = self.lanes.live = view
        self.path = Path(view.path)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._learn)

    def _learn(self) -> None:
        actions = (
            np.zeros((self.lanes.num_envs, *self.lanes.single_action_space.shape), self.lanes.single_action_space.dtype)
            if self.lanes.single_action_space is not None
            else None
        )
        while not self._ending.wait(0.0005):
            self.lanes.step(actions)  # type: ignore[arg-type]

    def until(self, holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < deadline, f"waited for {holds}"
            time.sleep(0.005)

    def go_on(self, steps: int) -> None:
        """The run makes so many more steps."""
        last = self.lanes.global_step + steps
        self.until(lambda: self.lanes.global_step >= last)

    def __enter__(self) -> "Stage":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()
        self.lanes.close()


def first(viewer: Viewer, fits: Callable[[Frame], bool] = lambda _: True) -> Frame:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        frame = viewer.wait(1.0)
        if frame is not None and fits(frame):
            return frame
        assert not viewer.note, viewer.note
    pytest.fail(f"no such frame within {PATIENCE_S} s")


def complete(frame: Frame) -> bool:
    return all(tile.episode_length for tile in frame.head.tiles)


def cartpole() -> Any:
    made = envs.make_vec("CartPole-v1", 1, backend="bare")
    made.reset(seed=1)
    return made


@pytest.mark.parametrize("backend", [Fake, cartpole], ids=["plain", "twin"])
def test_the_rate_is_that_of_the_run_unless_the_viewer_asks_for_another(backend: Callable[[], Any]) -> None:
    with (
        Stage(backend(), fastlane_fps=7) as stage,
        Viewer(stage.path, Wishes()) as viewer,
        contextlib.closing(RingReader(stage.path)) as ring,
    ):
        first(viewer)
        assert ring.fps == 7
        viewer.ask(Wishes(fps=12))
        deadline = time.monotonic() + PATIENCE_S
        while ring.fps != 12 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert ring.fps == 12


def test_a_tile_in_favour_is_drawn_most_and_the_others_too() -> None:
    backend = Fake()
    with Stage(backend) as stage, Viewer(stage.path, Wishes(mode="grid", slot=2, fps=120, budget=1.0)) as viewer:
        first(viewer, complete)
        begun = len(backend.rendered)
        stage.until(lambda: len(backend.rendered) >= begun + 80)
        drawn = backend.rendered[begun:]
        assert set(drawn) == {0, 1, 2, 3}
        assert max(drawn.count(slot) for slot in (0, 1, 3)) < drawn.count(2)


def test_turns_are_taken_as_often_as_the_rate_allows() -> None:
    def turns(slot: int | None, *, apart_s: float) -> list[int]:
        wishes = Wishes(mode="grid", slot=slot)
        demand, made = Demand(wishes, 10.0, 0.05, ()), plain_view.Turns()
        return [made.next(range(4), demand, place * apart_s) for place in range(8)]

    assert turns(None, apart_s=1.0) == [0, 1, 2, 3, 0, 1, 2, 3]
    assert turns(2, apart_s=1.0) == [2, 2, 2, 0, 2, 2, 2, 1]
    # It is at its rate already: what is left is of the others.
    assert turns(2, apart_s=0.04) == [2, 0, 1, 2, 2, 3, 2, 0]
    assert turns(9, apart_s=1.0) == [0, 1, 2, 3, 0, 1, 2, 3]


def renders_in(stage: Stage, backend: Fake, *, steps: int) -> int:
    """Pictures that were made while the run made so many steps."""
    before = len(backend.rendered)
    stage.go_on(steps)
    return len(backend.rendered) - before


def note_of(viewer: Viewer) -> str:
    deadline = time.monotonic() + PATIENCE_S
    while not viewer.note and time.monotonic() < deadline:
        time.sleep(0.01)
    return viewer.note


def test_nothing_is_rendered_without_a_viewer() -> None:
    backend = Fake()
    with Stage(backend) as stage:
        stage.go_on(500)
    assert backend.rendered == []


def test_a_grid_shows_every_slot_with_its_return_and_length() -> None:
    with Stage(Fake(6), grid_limit=4) as stage, Viewer(stage.path, Wishes(fps=100, budget=1.0)) as viewer:
        frame = first(viewer, complete)
    assert [(tile.env, tile.episode_return, tile.episode_length) for tile in frame.head.tiles] == [
        (slot, slot * 1.5, slot + 1) for slot in range(4)
    ]
    assert (frame.head.columns, frame.head.rows, frame.head.grid) == (2, 2, True)
    assert frame.pixels.shape == (80, 120, 4)
    assert [int(frame.pixels[y, x, 0]) for y, x in ((0, 0), (0, 119), (79, 0), (79, 119))] == [0, 1, 2, 3]
    assert frame.head.global_step > 0


def test_the_viewer_switches_modes_while_the_run_trains() -> None:
    backend = Fake(4)
    with Stage(backend) as stage, Viewer(stage.path, Wishes(mode="grid", fps=100, budget=1.0)) as viewer:
        first(viewer, complete)
        viewer.ask(Wishes(mode="single", slot=2, fps=100, budget=1.0))
        frame = first(viewer, lambda frame: not frame.head.grid)
        assert [tile.env for tile in frame.head.tiles] == [2]
        viewer.ask(Wishes(mode="off"))
        stage.until(lambda: viewer_lease.current(stage.path).wishes.mode == "off")  # type: ignore[union-attr]
        stage.until(lambda: renders_in(stage, backend, steps=200) == 0)  # the view looks twice a second
        assert renders_in(stage, backend, steps=500) == 0
        viewer.ask(Wishes(mode="single", slot=99, fps=100, budget=1.0))
        assert first(viewer, lambda frame: not frame.head.grid and frame.head.tiles[0].env != 2).head.tiles[0].env == 3


def test_a_viewer_that_does_not_mind_gets_what_the_run_was_configured_for() -> None:
    with (
        Stage(Fake(4), video_mode="single", fastlane_slot=3) as stage,
        Viewer(stage.path, Wishes(budget=1.0)) as viewer,
    ):
        assert [tile.env for tile in first(viewer).head.tiles] == [3]


def test_tiles_have_the_width_that_was_asked_for() -> None:
    with Stage(Fake(4)) as stage, Viewer(stage.path, Wishes(fps=100, tile_width=30, budget=1.0)) as viewer:
        assert first(viewer).pixels.shape == (40, 60, 4)


def test_64_tiles_fit() -> None:
    big = Fake(100, lambda _: np.zeros((400, 600, 3), np.uint8))
    with Stage(big, grid_limit=64) as stage, Viewer(stage.path, Wishes(fps=100, tile_width=600, budget=1.0)) as viewer:
        frame = first(viewer)
    assert len(frame.head.tiles) == 64
    assert frame.pixels.shape[0] * frame.pixels.shape[1] <= 1280 * 960


def test_a_picture_that_changes_its_size_changes_the_frame() -> None:
    size = [40]
    backend = Fake(1, lambda _: np.zeros((size[0], 60, 3), np.uint8))
    with Stage(backend) as stage, Viewer(stage.path, Wishes(fps=100, budget=1.0)) as viewer:
        assert first(viewer).pixels.shape == (40, 60, 4)
        size[0] = 20
        first(viewer, lambda frame: frame.pixels.shape == (20, 60, 4))


class Clock:
    """Stands still unless a test moves it."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.mark.parametrize(("cost_s", "budget"), [(0.02, 0.1), (0.02, 0.5), (0.3, 0.1)])
def test_rendering_takes_no_more_than_its_share(cost_s: float, budget: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """`make bench-live` measures it on a real run."""
    clock, pictures = Clock(), 0
    monkeypatch.setattr(plain_view, "time", clock)
    kept = plain_view.PictureBudget()
    demand = Demand(Wishes(fps=100, budget=budget), sockets=(), fps=100, budget=budget)
    while clock.now_s < 1000:
        clock.now_s += max(kept.wait_s(clock.now_s, demand, 1), 0.0) + 1e-6
        clock.now_s += cost_s / 2
        kept.learner_paid(0, cost_s / 2)
        clock.now_s += cost_s / 2
        kept.view_paid(0, cost_s / 2)
        pictures += 1
    share = pictures * cost_s / clock.now_s
    assert 0.9 * budget <= share <= 1.01 * budget


def raises(_: int) -> Any:
    raise ZeroDivisionError("no picture today")


@pytest.mark.parametrize(
    ("picture", "reason"),
    [
        (raises, "render() raised ZeroDivisionError('no picture today')"),
        (lambda _: None, "the bare backend gives no picture of this environment"),
        (lambda _: np.zeros((3, 4, 5), np.uint8), "an array of shape (3, 4, 5), which is not a picture"),
        (lambda _: np.zeros(7, np.uint8), "an array of shape (7,)"),
    ],
    ids=["raises", "none", "no picture", "flat"],
)
def test_an_environment_that_cannot_render_costs_only_the_view(picture: Pictures, reason: str) -> None:
    with Stage(Fake(2, picture)) as stage, Viewer(stage.path) as viewer:
        assert reason in note_of(viewer)
        stage.go_on(50)
        assert [reason in complaint and "the run goes on" in complaint for complaint in stage.complaints] == [True]


def test_a_render_that_never_returns_costs_a_few_seconds_and_the_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_view, "RENDER_TIMEOUT_S", 0.3)
    for_ever = threading.Event()
    with Stage(Fake(2, lambda _: for_ever.wait())) as stage, Viewer(stage.path) as viewer:
        assert "render() did not return within 0.3 s" in note_of(viewer)
        stage.go_on(50)
    for_ever.set()


def test_without_room_the_run_goes_on_without_a_view(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(ring_module, "folders", lambda: (tmp_path / "absent",))
    complaints: list[str] = []
    view = open_live_view.open_view(Fake(), Options(), global_step=lambda: 0, complain=complaints.append)  # type: ignore[arg-type]
    assert view is None
    assert "no room for its frames" in complaints[0]


@pytest.mark.parametrize("options", [{"fastlane_enabled": False}, {"video_mode": "off"}])
def test_a_view_that_is_not_wanted_is_not_opened(options: dict[str, Any], folder: Path) -> None:
    assert open_live_view.open_view(Fake(), Options(**options), global_step=lambda: 0, complain=print) is None  # type: ignore[arg-type]
    assert list(folder.iterdir()) == []


def test_the_ring_is_gone_with_the_view(folder: Path) -> None:
    with Stage(Fake()):
        assert len(list(folder.iterdir())) == 1
    assert list(folder.iterdir()) == []


@contextlib.contextmanager
def real(env_id: str, backend: Any, num_envs: int = 2) -> Iterator[Stage]:
    made = envs.make_vec(env_id, num_envs, backend=backend, render_mode="rgb_array")
    made.reset(seed=1)
    with Stage(made) as stage:
        yield stage


@pytest.mark.parametrize("backend", ["bare", "sync", "async", "native"])
def test_cartpole_is_seen_with_every_backend(backend: str) -> None:
    with real("CartPole-v1", backend) as stage, Viewer(stage.path, Wishes(budget=0.5)) as viewer:
        assert isinstance(stage.view, TwinView if backend == "bare" else PlainView)
        frame = first(viewer, complete)
    # White, with the cart and its track in black and the pole in brown.
    tile = frame.pixels[: frame.pixels.shape[0] // frame.head.rows, : frame.pixels.shape[1] // frame.head.columns, :3]
    assert (tile == 255).all(2).mean() > 0.8
    assert (tile == 0).all(2).any()
    assert (abs(tile.astype(int) - (101, 152, 202)).max(2) < 3).any()


def test_envpool_renders_in_its_own_way() -> None:
    pytest.importorskip("envpool")
    with real("CartPole-v1", "envpool") as stage, Viewer(stage.path, Wishes(budget=0.5)) as viewer:
        assert len(np.unique(first(viewer, complete).pixels)) > 1


def test_a_backend_that_cannot_render_says_which_one_can() -> None:
    backend = Fake(2, lambda _: None)
    backend.backend = "envpool"
    with Stage(backend) as stage, Viewer(stage.path) as viewer:
        assert "the envpool backend gives no picture of this environment; use the bare backend" in note_of(viewer)


def test_mujoco_is_drawn_by_another_process_as_it_draws_itself() -> None:
    pytest.importorskip("mujoco")
    with real("HalfCheetah-v5", "bare") as stage, Viewer(stage.path, Wishes(tile_width=200)) as viewer:
        frame = first(viewer, complete)
    assert frame.pixels.shape == (200, 400, 4)
    assert len(np.unique(frame.pixels[:, :200, :3].reshape(-1, 3), axis=0)) > 100, "more than one colour"


def test_a_painter_that_dies_costs_only_the_view() -> None:
    with real("CartPole-v1", "bare") as stage, Viewer(stage.path) as viewer:
        first(viewer)
        painter: Any = stage.view
        painter._painter._process.kill()
        assert "the process that draws ended with -9" in note_of(viewer)
        assert len(stage.complaints) == 1


def test_the_painter_ends_with_its_view(monkeypatch: pytest.MonkeyPatch) -> None:
    # Patience of a busy machine: by itself, not by a kill.
    monkeypatch.setattr(twin_view, "END_S", PATIENCE_S)
    with real("CartPole-v1", "bare") as stage, Viewer(stage.path) as viewer:
        first(viewer)
        view: Any = stage.view
        process = view._painter._process
        assert process.poll() is None
    assert process.returncode == 0


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0", "HalfCheetah-v5"])
def test_a_twin_looks_like_the_environment(env_id: str) -> None:
    if env_id == "HalfCheetah-v5":
        pytest.importorskip("mujoco")
    made = envs.make_vec(env_id, 1, backend="bare", render_mode="rgb_array")
    made.reset(seed=3)
    actions = np.array([made.single_action_space.sample()])
    for _ in range(7):
        made.step(actions)
    freezer, twin = made.freezer(), envs.family_of(env_id).twin
    assert freezer is not None
    assert twin is not None
    other = envs.make(env_id)
    other.reset(seed=9)
    state = freezer.freeze(0)
    twin.thaw(other.unwrapped, state)
    # MuJoCo's picture is one substep behind its state; set anew, it is not.
    twin.thaw(made.envs[0].unwrapped, state)  # type: ignore[attr-defined]
    mine, its = made.render_slot(0), np.asarray(other.render())
    other.close()
    made.close()
    assert np.array_equal(mine, its)  # type: ignore[arg-type]


def test_a_twin_is_made_with_the_settings_of_the_run() -> None:
    settings = {"goal_velocity": 0.02}
    made = envs.make_vec("MountainCar-v0", 1, settings=settings)
    freezer = made.freezer()
    assert freezer is not None
    job = Job.from_text(
        Job(
            env_id=freezer.env_id,
            settings=dict(freezer.settings),
            ring="none",
            table=0,
            environments=1,
            floats=3,
            grid_limit=1,
            mode="single",
            slot=0,
            fps=1.0,
            budget=0.1,
            evaluation=False,
        ).to_text()
    )
    twin = envs.make(job.env_id, settings=job.settings)
    assert twin.unwrapped.goal_velocity == 0.02  # type: ignore[attr-defined]
    twin.close()
    made.close()


def test_the_writer_that_attaches_needs_a_ring(tmp_path: Path) -> None:
    with pytest.raises(ring_module.RingRefused, match="cannot be opened"):
        RingWriter.attach(tmp_path / "none.ring")


def told(stage: Stage, viewer: Viewer) -> dict[str, Any]:
    """With the next picture that tells anything."""
    found: list[str] = []

    def comes() -> bool:
        frame = viewer.wait(0.5)
        found.append(frame.head.about if frame is not None else "")
        return bool(found[-1])

    stage.until(comes)
    return json.loads(found[-1])


def test_what_an_environment_observes_is_told_with_its_picture_where_a_viewer_asks() -> None:
    backend = Fake(4)
    backend.current_obs = np.arange(8, dtype=np.float32).reshape(4, 2)
    with Stage(backend) as stage, Viewer(stage.path, Wishes(mode="grid", slot=2, explain=True)) as viewer:
        stage.view.explained.explain = lambda row: {"value": float(row.sum()), "probabilities": [0.25, 0.75]}

        found = told(stage, viewer)
        assert found["env"] == 2
        assert found["last"] == {"value": 9.0, "probabilities": [0.25, 0.75]}
        assert found["observation"] == {"kind": "numbers", "shape": [2], "dtype": "float32", "numbers": [4.0, 5.0]}
        viewer.ask(Wishes(mode="grid"))
        stage.until(lambda: (frame := viewer.wait(0.5)) is not None and not frame.head.about)
        assert not stage.complaints


def test_an_agent_that_cannot_say_what_it_makes_of_an_observation_goes_on_training() -> None:
    backend = Fake(2)
    backend.current_obs = np.zeros((2, 3, 90, 90), np.uint8)

    def fails(_: Any) -> dict[str, Any]:
        raise ValueError("of another shape")

    with Stage(backend) as stage, Viewer(stage.path, Wishes(explain=True)) as viewer:
        stage.view.explained.explain = fails
        stage.until(lambda: stage.complaints)
        assert "cannot be shown (ValueError('of another shape')); the run goes on" in stage.complaints[0]
        stage.go_on(50)
        # What it observes is still told: of a stack of pictures the newest, made smaller.
        assert told(stage, viewer)["observation"]["picture"] == [30, 30]
        assert len(stage.complaints) == 1


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0"])
def test_a_tile_that_is_drawn_cheaply_looks_like_the_picture_made_smaller(env_id: str) -> None:
    twin, env = envs.family_of(env_id).twin, envs.make(env_id)
    assert twin is not None
    env.reset(seed=3)
    picture = np.asarray(env.render())
    grid = layout(8, picture.shape[:2], tile_width=320, max_pixels=10**6)
    tile, wanted = twin.tile(env.unwrapped, grid.tile_width, grid.tile_height), fit_smoothly(picture, grid)
    again = np.asarray(env.render())
    env.close()
    assert tile is not None
    assert tile.shape == wanted.shape
    # Both are means over what a pixel covers, by different weights: only edges differ.
    assert np.abs(tile[:, :, :3].astype(int) - wanted[:, :, :3]).mean() < 1
    assert np.array_equal(again, picture), "render() is as it was"
