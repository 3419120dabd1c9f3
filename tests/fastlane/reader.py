"""A process that reads a ring until it is closed and checks every frame of writer.py; prints what it found as JSON.

python reader.py PATH
"""

import json
import sys
from pathlib import Path

import numpy as np

from mosaic.fastlane.ring import RingReader


def main(path: str) -> None:
    reader = RingReader(Path(path))
    seen = torn = backwards = last = 0
    while not reader.closed:
        frame = reader.newest(last)
        if frame is None:
            continue
        seen += 1
        backwards += frame.number <= last
        last = frame.number
        head = frame.head
        whole = (
            head.global_step == frame.number
            and head.line == f"frame {frame.number}"
            and all(tile.episode_return == frame.number for tile in head.tiles)
            and bool(np.all(frame.pixels == frame.number % 256))
        )
        torn += not whole
    print(json.dumps({"seen": seen, "torn": torn, "backwards": backwards, "last": last}))


if __name__ == "__main__":
    main(sys.argv[1])
