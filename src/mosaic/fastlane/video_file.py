"""An mp4 file (H.264, playable everywhere) written frame by frame."""

import contextlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


class VideoFile:
    """Written under its final name, with the index at the end; `close` makes it whole. Errors are OSErrors."""

    def __init__(self, path: Path, *, fps: int) -> None:
        # Only here: it is large, and most processes that know of films never make one.
        import av

        self._av: Any = av
        # Opened here: the library would find out only at the end that there is no such folder.
        self._file = path.open("wb")
        self._container: Any = av.open(self._file, "w", format="mp4")
        self._fps = fps
        self._stream: Any = None
        self._size = (0, 0)
        self._last = -1

    def add(self, pixels: Pixels, *, at_s: float | None = None) -> bool:
        """Append an RGB picture, right after the last one or at a time; False if its place is taken already."""
        place = self._last + 1 if at_s is None else round(at_s * self._fps)
        if place <= self._last:
            return False
        stream = self._stream = self._stream or self._begun(pixels)
        height, width = self._size
        # H.264 needs even sizes; a picture whose size changes in mid-film is cut or framed in black.
        canvas = np.zeros((height, width, 3), np.uint8)
        # In shades of grey, or with an alpha channel, as environments draw too.
        part = (pixels if pixels.ndim > 2 else pixels[..., None])[:height, :width, :3]
        canvas[: part.shape[0], : part.shape[1]] = part
        frame = self._av.VideoFrame.from_ndarray(canvas, format="rgb24")
        frame.pts = self._last = place
        self._mux(stream.encode(frame))
        return True

    def close(self) -> None:
        try:
            if self._stream is not None:
                self._mux(self._stream.encode(None))
        finally:
            with contextlib.suppress(self._av.error.FFmpegError):
                self._container.close()
            self._file.close()

    def _begun(self, pixels: Pixels) -> Any:
        self._size = pixels.shape[0] + pixels.shape[0] % 2, pixels.shape[1] + pixels.shape[1] % 2
        # Quick rather than small: the encoder runs beside a learner.
        options = {"preset": "veryfast", "crf": "23", "threads": "1"}
        stream = self._container.add_stream("libx264", rate=self._fps, options=options)
        stream.height, stream.width = self._size
        stream.pix_fmt = "yuv420p"
        stream.time_base = stream.codec_context.time_base = Fraction(1, self._fps)
        return stream

    def _mux(self, packets: Any) -> None:
        for packet in packets:
            self._container.mux(packet)
