"""Environment tests run without a display; MuJoCo renders with whatever preflight found."""

import os

import pytest

from mosaic.envs import headless_defaults, preflight


@pytest.fixture(autouse=True, scope="session")
def headless() -> None:
    headless_defaults()
    os.environ.setdefault("MUJOCO_GL", preflight("HalfCheetah-v5").variables.get("MUJOCO_GL", "egl"))
