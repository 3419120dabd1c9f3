"""What was said: a JSON object a line, each the kernel's before the next request, so a kill loses one at most.

`session` (model, settings, system prompt), then for each action `prompt` (step and text), `attempt` (each request:
status, answer or error, tokens, seconds) and `action` (what it came to, and the totals so far). Pictures are named by
their size only, and the key is nowhere in it.
"""

import json
import time
from pathlib import Path
from typing import Any

from mosaic.errors import HomeUnusable


class Transcript:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Any = None

    def write(self, kind: str, **said: Any) -> None:
        line = json.dumps({"kind": kind, "at": round(time.time(), 3), **said}, ensure_ascii=False) + "\n"
        data = line.encode(errors="replace")
        try:
            if self._file is None:
                self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                # Unbuffered, and after what an earlier actor of this seat said.
                self._file = self._path.open("ab", buffering=0)
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise HomeUnusable(f"{self._path} could not be written: {error}; free some disk") from error

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
