"""`python -m mosaic.play.export.filming`: recorded episodes as a video, by making them again with pictures.

Standard input is {"episodes": [FILE, …], "captions": [TEXT, …], "out": FILE.mp4 or FILE.gif, "speed": 1.0}. Several
episodes stand side by side, each with its caption; one that is over waits for the others. The last line of the output
is {"frames": …, "seconds": …, "differences": [TEXT, …]}; those before it say how far it is: {"frame": 120, "of": 501}.
"""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from cleanrl_worker.sdk.command import worker_flags
from mosaic import envs
from mosaic.errors import HomeUnusable, MosaicError, RenderUnavailable
from mosaic.fastlane.video_file import VideoFile
from mosaic.play.arenas.arena import Picture
from mosaic.play.arenas.lockstep_arena import in_colour, side_by_side
from mosaic.play.export.remade_episode import RemadeEpisode
from mosaic.spec import episode_file

USUAL_FPS = 30
MAX_FPS = 60
GIF_FPS = 50
"""Of what browsers show: a GIF counts in hundredths of a second, and one is taken for ten."""
TOLD_EVERY = 10
"""Frames between two words of how far it is."""
FAR_OFF = 24
"""Levels of a colour, of 255, by which a pixel is off for a viewer to see it."""
FEW = 2e-5
"""Share of the pixels: in a picture of 600 × 400 five of them."""
CAPTION_PX = 22
GREY = 200


def main() -> int:
    asked: dict[str, Any] = json.load(sys.stdin)
    envs.headless_defaults()
    try:
        paths = [Path(path) for path in asked["episodes"]]
        made = film(paths, asked["captions"], Path(asked["out"]), asked["speed"], _told)
    except MosaicError as error:
        return worker_flags.reported(error)
    sys.stdout.write(json.dumps(made) + "\n")
    return 0


def _told(progress: dict[str, int]) -> None:
    sys.stdout.write(json.dumps(progress) + "\n")
    sys.stdout.flush()


def film(
    paths: Sequence[Path],
    captions: Sequence[str],
    out: Path,
    speed: float,
    tell: Callable[[dict[str, int]], object] = lambda _: None,
) -> dict[str, Any]:
    """What came of it; nothing is left of a video that could not be made whole. `tell` hears how far it is."""
    part = out.with_name(f".{out.name}.part")
    with contextlib.ExitStack() as stack:
        made = [RemadeEpisode(episode_file.read(path), pictures=True) for path in paths]
        for each in made:
            stack.callback(each.close)
        rate = made[0].rounds_per_s * speed
        try:
            reel: _Reel = Gif(part) if out.suffix.lower() == ".gif" else _Mp4(part, rate)
            stack.callback(part.unlink, missing_ok=True)
            stack.callback(reel.close)
            count, rounds = 0, 1 + max(len(each.recording.steps) for each in made)
            for count, pictures in enumerate(_together(made), start=1):
                reel.add(_framed(pictures, captions), (count - 1) / rate)
                if count % TOLD_EVERY == 0:
                    tell({"frame": count, "of": max(count, rounds)})
            reel.close()
            part.replace(out)
        except OSError as error:
            raise HomeUnusable(f"{out} could not be written: {error}") from error
        differences = [each.difference for each in made]
    return {"frames": count, "seconds": round(count / rate, 2), "differences": differences}


def _together(made: Sequence[RemadeEpisode]) -> Iterator[list[tuple[Picture, str]]]:
    """The pictures of all, and how each stands; one that is over keeps its last picture."""
    last: list[tuple[Picture, str]] = []
    for now in zip_longest(*(_pictures(each) for each in made)):
        last = [new or old for new, old in zip_longest(now, last)]
        yield last


def _pictures(made: RemadeEpisode) -> Iterator[tuple[Picture, str]]:
    made.begin()
    returns = dict.fromkeys(made.arena.seats, 0.0)
    yield _drawn(made), "step 0"
    for t, step in enumerate(made.steps(), start=1):
        for seat, reward in made.arena.rewards.items():
            returns[seat] += reward
        if step.round_ends:
            yield _drawn(made), f"step {t}  return {' '.join(f'{total:g}' for total in returns.values())}"


def _drawn(made: RemadeEpisode) -> Picture:
    picture = made.arena.render()
    if picture is None:
        raise RenderUnavailable(f"no video of {made.recording.head.env_id}: {made.arena.pictures_problem}")
    return in_colour(picture)


def _framed(pictures: Sequence[tuple[Picture, str]], captions: Sequence[str]) -> Picture:
    if len(pictures) == 1:
        return pictures[0][0]
    named = [_captioned(picture, f"{name}  {how}") for (picture, how), name in zip(pictures, captions, strict=True)]
    return side_by_side(*named)


def _captioned(picture: Picture, text: str) -> Picture:
    strip = Image.new("RGB", (picture.shape[1], CAPTION_PX))
    ImageDraw.Draw(strip).text((6, 3), text, fill=(GREY, GREY, GREY), font=ImageFont.load_default(13))
    return np.concatenate([np.asarray(strip), picture])


class _Reel(Protocol):
    def add(self, picture: Picture, at_s: float) -> None: ...
    def close(self) -> None: ...


class _Mp4:
    """At the rate of the episode itself where that is a usual one, else with each picture at its time."""

    def __init__(self, path: Path, rate: float) -> None:
        whole = 1 <= rate <= MAX_FPS and rate == round(rate)
        self._film: VideoFile | None = VideoFile(path, fps=round(rate) if whole else USUAL_FPS)

    def add(self, picture: Picture, at_s: float) -> None:
        assert self._film is not None
        self._film.add(picture, at_s=at_s)

    def close(self) -> None:
        made, self._film = self._film, None
        if made is not None:
            made.close()


class Gif:
    """Pictures that come faster than a GIF can show are left out.

    To choose 256 colours takes 20 times as long as to use them, so those of a picture are used for the next ones as
    long as they do as well there.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._frames: list[Image.Image] = []
        self._at: list[float] = []
        self._colours: Image.Image | None = None
        """A picture whose palette is used."""
        self._off = 0.0
        """Share of its pixels that are far from what they should be."""

    def add(self, picture: Picture, at_s: float) -> None:
        if self._at and at_s - self._at[-1] < 1 / GIF_FPS - 1e-9:
            return
        # One byte a pixel: a long episode must fit into memory until it is written.
        self._frames.append(self._with_few_colours(picture))
        self._at.append(at_s)

    def _with_few_colours(self, picture: Picture) -> Image.Image:
        whole = Image.fromarray(picture)
        if self._colours is not None:
            made = whole.quantize(palette=self._colours, dither=Image.Dither.NONE)
            if _share_off(made, picture) <= 1.5 * self._off + FEW:
                return made
        self._colours = whole.quantize(dither=Image.Dither.NONE)
        self._off = _share_off(self._colours, picture)
        return self._colours

    def close(self) -> None:
        if not self._frames:
            return
        lasts = [round((after - at) * 1000) for at, after in zip(self._at, self._at[1:], strict=False)]
        lasts.append(1000)
        first, *rest = self._frames
        first.save(self._path, "GIF", save_all=True, append_images=rest, duration=lasts, loop=0, optimize=False)
        self._frames = []


def _share_off(made: Image.Image, picture: Picture) -> float:
    """Of the pixels, those that a viewer sees to be of another colour."""
    shown = np.asarray(made.convert("RGB"))
    # In bytes: the larger of the two minus the smaller one cannot be negative.
    off = np.maximum(shown, picture) - np.minimum(shown, picture)
    return float((off > FAR_OFF).any(axis=-1).mean())


if __name__ == "__main__":
    raise SystemExit(main())
