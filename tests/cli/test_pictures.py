"""Pictures in the terminal: each way, decoded again, is the picture; and the terminal's own word decides which."""

import base64
import re
import zlib

import numpy as np
import pytest

from mosaic.cli.live.terminal_pictures import COLOURS, Canvas, Pixels, blocks, can, kitty, sixel


@pytest.fixture
def picture() -> Pixels:
    pixels = np.zeros((40, 80, 3), np.uint8)
    pixels[:20] = (255, 0, 0)
    pixels[20:, 40:] = (0, 255, 0)
    return pixels


def lines_of(drawn: str) -> list[str]:
    return drawn.removesuffix("\n").split("\n")


def test_half_blocks_fill_the_space_there_is(picture: Pixels) -> None:
    lines = lines_of(blocks(picture, Canvas(30, 100)))
    plain = [re.sub(r"\x1b\[[0-9;]*[mK]", "", line) for line in lines]
    assert {len(line) for line in plain} == {30}
    assert len(lines) == 7
    assert "38;2;255;0;0" in lines[0]
    assert "48;2;0;255;0" in lines[-1]
    assert len(lines_of(blocks(picture, Canvas(1000, 5)))) == 5
    assert len(lines_of(blocks(np.zeros((400, 600, 3), np.uint8), Canvas(1, 1)))) == 1


def test_kitty_gets_the_whole_picture_in_small_pieces() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (60, 90, 3), np.uint8)
    drawn = kitty(noise, Canvas(80, 24, (10, 20)))
    pieces = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", drawn)
    assert len(pieces) > 1
    assert all(len(data) <= 4096 for _, data in pieces)
    assert [keys[-3:] for keys, _ in pieces] == ["m=1"] * (len(pieces) - 1) + ["m=0"]
    keys = dict(pair.split("=") for pair in pieces[0][0].split(","))
    assert (keys["s"], keys["v"], keys["f"], keys["o"]) == ("90", "60", "24", "z")
    data = zlib.decompress(base64.standard_b64decode("".join(data for _, data in pieces)))
    np.testing.assert_array_equal(np.frombuffer(data, np.uint8).reshape(60, 90, 3), noise)
    # Twice its size, and the text goes on below it.
    assert (keys["c"], keys["r"]) == ("18", "6")
    assert drawn.count("\n") == 6


def test_sixels_show_the_picture(picture: Pixels) -> None:
    shown = decode_sixel(sixel(picture, Canvas(80, 24)))
    assert shown.shape == (36, 80, 3), "whole bands of six only"
    np.testing.assert_allclose(shown[2, 40], (255, 0, 0), atol=3)
    np.testing.assert_allclose(shown[33, 70], (0, 255, 0), atol=3)
    np.testing.assert_allclose(shown[33, 10], (0, 0, 0), atol=3)
    assert decode_sixel(sixel(picture, Canvas(5, 24, (8, 16)))).shape == (18, 40, 3)


def test_sixels_of_many_colours_stay_near() -> None:
    ramp = np.linspace(0, 255, 120).astype(np.uint8)
    picture = np.broadcast_to(ramp[None, :, None], (60, 120, 3)).copy()
    shown = decode_sixel(sixel(picture, Canvas(80, 24)))
    assert np.abs(shown.astype(int) - picture[:60]).max() <= 255 / COLOURS * 2


@pytest.mark.parametrize(
    ("answer", "way"),
    [
        (b"\x1b_Gi=31;OK\x1b\\\x1b[?62;c", "kitty"),
        (b"\x1b[?62;4;22c", "sixel"),
        (b"\x1b[?62;14;22c", "blocks"),
        (b"\x1b_Gi=31;ENOTSUPPORTED\x1b\\\x1b[?64;4c", "sixel"),
        (b"", "blocks"),
    ],
)
def test_the_terminals_answer_decides(answer: bytes, way: str) -> None:
    assert can(answer) == way


def decode_sixel(text: str) -> Pixels:
    """A terminal's part, written plainly."""
    body = text.removeprefix("\x1bPq").removesuffix("\x1b\\")
    size = re.match(r'"1;1;(\d+);(\d+)', body)
    assert size is not None
    wide, high = map(int, size.groups())
    picture = np.zeros((high, wide, 3), np.uint8)
    palette: dict[str, tuple[int, ...]] = {}
    colour, x, y = "0", 0, 0
    for define, number, repeat, code in re.findall(r"#(\d+;2;\d+;\d+;\d+)|#(\d+)|!(\d+)|([?-~$-])", body[size.end() :]):
        if define:
            name, _, *parts = define.split(";")
            palette[name] = tuple(round(int(part) * 2.55) for part in parts)
        elif number:
            colour = number
        elif repeat:
            times = int(repeat)
            continue
        elif code == "$":
            x = 0
        elif code == "-":
            x, y = 0, y + 6
        else:
            for row in range(6):
                if (ord(code) - 63) >> row & 1:
                    picture[y + row, x : x + times] = palette[colour]
            x += times
        times = 1
    return picture
