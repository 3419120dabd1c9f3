"""Text of runs, logs and other processes, made harmless for a terminal and for Qt.

A terminal carries out what control characters tell it: move the cursor over a line, change the title, write to the
clipboard, answer as if it were typed. Marks of direction and letters without a picture make a text look like another.

- CSI sequences (colours, cursor moves) are dropped whole: they say nothing.
- Every other control character but line feed and tab, every mark of direction, every letter without a picture (but the
  two joiners that scripts and emoji need), line separators and halves of surrogate pairs become visible, as `\\x1b`.
"""

import json
import re

_CSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 without tab and line feed
    "\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # directions, no picture
    "\U000e0000-\U000e007f"  # tags: a second alphabet that is not shown
    "\ud800-\udfff]"
)


def plain(text: str) -> str:
    """Any number of lines, without anything that a terminal would carry out or a reader would not see."""
    if not _HARMFUL.search(text):
        return text
    return _HARMFUL.sub(_shown, _CSI.sub("", text))


def plain_line(text: str) -> str:
    """On one line: line feeds and tabs become spaces."""
    return re.sub(r"[\n\t]", " ", plain(text))


def json_text(value: object) -> str:
    """JSON on one line that a terminal can show as it is; read back it is the same value."""
    return _HARMFUL.sub(_escaped, json.dumps(value, ensure_ascii=False))


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _escaped(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
