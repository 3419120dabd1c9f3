"""Pictures made to fit their tiles."""

import numpy as np
import pytest

from mosaic.fastlane.tiling import Pixels, fit, fit_smoothly, layout


@pytest.fixture(params=["grey", "RGB", "RGBA"])
def lined(request: pytest.FixtureRequest) -> Pixels:
    """White, with thin black lines."""
    shape = {"grey": (400, 600), "RGB": (400, 600, 3), "RGBA": (400, 600, 4)}[request.param]
    picture = np.full(shape, 255, np.uint8)
    picture[:, 100:102] = 0
    picture[201] = 0
    return picture


def test_thin_lines_survive_where_there_is_time_to_be_smooth(lined: Pixels) -> None:
    grid = layout(1, (400, 600), tile_width=75, max_pixels=10**6)
    rough, smooth = fit(lined, grid), fit_smoothly(lined, grid)
    assert rough.shape == smooth.shape == (50, 75, 4)
    # Two of eight columns and one of eight rows: a quarter and an eighth darker.
    assert smooth[0, 12, :3].tolist() == pytest.approx([191] * 3, abs=1)
    assert smooth[25, 0, :3].tolist() == pytest.approx([223] * 3, abs=1)
    assert (rough[0, :, 0] == 255).all()


def test_a_picture_of_the_right_size_is_left_as_it_is(lined: Pixels) -> None:
    grid = layout(1, (400, 600), tile_width=600, max_pixels=10**6)
    assert (fit_smoothly(lined, grid) == fit(lined, grid)).all()


def test_colours_come_as_bgrx() -> None:
    red = np.zeros((20, 20, 3), np.uint8)
    red[:, :, 0] = 200
    for fitted in (fit, fit_smoothly):
        tile = fitted(red, layout(1, (20, 20), tile_width=10, max_pixels=10**6))
        assert tile[3, 3].tolist() == [0, 0, 200, 255]
