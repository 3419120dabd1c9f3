"""Preflight really renders, or says what is missing; headless defaults touch only what is unset."""

import os
from pathlib import Path

import pytest

from mosaic.envs import headless_defaults, make, preflight
from mosaic.envs.rendering import render_preflight


def test_mujoco_frame_names_the_variables_to_set() -> None:
    report = preflight("HalfCheetah-v5")
    assert report.ok
    assert report.variables["MUJOCO_GL"] in ("egl", "osmesa", "glfw")
    assert report.frame_shape is not None
    assert report.frame_shape[2] == 3
    assert preflight("HalfCheetah-v5") is report


def test_failure_names_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(render_preflight, "_candidates", lambda family: [{"MUJOCO_GL": "nonsense"}])
    report = render_preflight._preflight.__wrapped__("HalfCheetah-v5", "{}")
    assert not report.ok
    assert "nonsense" in report.message
    assert "apt-get install libegl1 libgl1" in report.message


def test_mujoco_leaves_no_log_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make("HalfCheetah-v5", render_mode=None).close()
    assert list(tmp_path.iterdir()) == []


def test_headless_defaults_keep_what_the_user_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SDL_AUDIODRIVER", "alsa")
    changed = headless_defaults()
    assert os.environ["SDL_VIDEODRIVER"] == "dummy"
    assert os.environ["SDL_AUDIODRIVER"] == "alsa"
    assert "SDL_AUDIODRIVER" not in changed
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("SDL_VIDEODRIVER")
    assert "SDL_VIDEODRIVER" not in headless_defaults()
