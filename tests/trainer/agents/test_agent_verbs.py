"""What the daemon types on another machine."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from mosaic import __version__


def test_a_host_is_prepared_and_sockets_of_broken_tunnels_are_removed():
    # Not tmp_path, which is too long for sockets.
    with tempfile.TemporaryDirectory(prefix="mt-") as scratch, socket.socket(socket.AF_UNIX) as living:
        folder = Path(scratch) / "s"
        folder.mkdir(mode=0o700)
        names = ("0a-living.sock", "0a-broken.sock", "0a-young.sock")
        for name in names:
            with socket.socket(socket.AF_UNIX) as made:
                bound = living if "living" in name else made
                bound.bind(str(folder / name))
            if "young" not in name:
                os.utime(folder / name, (1, 1))
        living.listen()
        words = [sys.executable, "-P", "-m", "mosaic.agent", "prepare", "--scratch", scratch]
        answer = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        assert (answer["version"], answer["sockets"]) == (__version__, str(folder))
        assert {path.name for path in folder.iterdir()} == {"0a-living.sock", "0a-young.sock"}
