"""A process that owns a ring and publishes frames which prove to be whole; prints the ring's path first.

    python writer.py FOLDER SECONDS FPS WIDTH HEIGHT TILES

Every byte of frame n's pixels is n % 256, and its global step is n. FPS 0 is full speed.
"""

import sys
import time
from pathlib import Path

import numpy as np

from mosaic.fastlane import ring as ring_module
from mosaic.fastlane import viewer_lease
from mosaic.fastlane.ring import RingWriter
from mosaic.fastlane.ring_layout import FrameHead, Tile
from mosaic.fastlane.tile_picture import ReaderWakeup


def main(seconds: float, fps: float, width: int, height: int, tiles: int) -> None:
    ring = RingWriter.create(max_pixels=width * height)
    wakeup = ReaderWakeup()
    pictures = [np.full((height, width, 4), value, np.uint8) for value in range(256)]
    print(ring.path, flush=True)
    looked, demand, number = 0.0, None, 0
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        if now - looked > 0.1:
            looked, demand = now, viewer_lease.current(ring.path)
        number += 1
        head = FrameHead(
            global_step=number,
            steps_per_s=1.0,
            columns=tiles,
            rows=1,
            tiles=tuple(Tile(env, number % 1000, float(number)) for env in range(tiles)),
            grid=True,
            line=f"frame {number}",
        )
        ring.publish(head, pictures[number % 256])
        if fps:
            wakeup.ring(demand.sockets if demand else ())
            time.sleep(1 / fps)
    ring.close()


if __name__ == "__main__":
    ring_module.folders = lambda: (Path(sys.argv[1]),)
    main(float(sys.argv[2]), float(sys.argv[3]), *map(int, sys.argv[4:7]))
