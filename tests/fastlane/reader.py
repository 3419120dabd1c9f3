"""A process that checks frames of writer.py until it has seen some, or the ring is closed; prints what it found.

python reader.py PATH [FRAMES]
"""

import json
import sys
from pathlib import Path

import numpy as np

from mosaic.fastlane.ring import RingReader


def main(path: str, most: float) -> None:
    reader = RingReader(Path(path))
    seen = torn = backwards = last = 0
    while not reader.closed and seen < most:
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
    main(sys.argv[1], float((*sys.argv[2:], "inf")[0]))
