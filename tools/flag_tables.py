"""Write the tables of flags in docs/algorithms from each algorithm's Args (`make flags`); with --check, fail if stale.

The first table below "## Flags" is generated: names, defaults and the sentence under each field. Everything else of a
page is written by hand.
"""

import re
import sys
from pathlib import Path
from typing import Any

from cleanrl_worker.sdk.command import algorithm_catalogue
from mosaic import config

PAGES = Path(__file__).resolve().parent.parent / "docs" / "algorithms"
COMMAND = "make flags"
_TABLE = re.compile(r"(?m)(?<=^## Flags\n\n)(?:^\|.*\n)+")


def table(args: type[Any]) -> str:
    """Markdown, one row for each field in its order."""
    properties: dict[str, dict[str, Any]] = config.json_schema(args)["properties"]  # type: ignore[assignment]
    lines = ["| flag | default | meaning |", "|---|---|---|"]
    for name, rules in properties.items():
        meaning = _as_flags(rules["description"], list(properties))
        lines.append(f"| `{config.flag_name(name)}` | {_shown(rules['default'])} | {meaning} |")
    return "\n".join(lines) + "\n"


def with_table(page: str, args: type[Any]) -> str:
    """The page with its table as it should be; ValueError if it has no place for one."""
    fresh, found = _TABLE.subn(lambda _: table(args), page, count=1)
    if not found:
        raise ValueError("no table below '## Flags' and an empty line")
    return fresh


def _shown(default: Any) -> str:
    if default is None:
        return "none"
    if isinstance(default, bool):
        return "on" if default else "off"
    return f"`{default}`" if isinstance(default, str) else str(default)


def _as_flags(text: str, names: list[str]) -> str:
    """A field that the sentence of another field names is a flag to the reader of a page."""
    for name in names:
        if "_" in name:
            text = re.sub(rf"\b{name}\b", f"`{config.flag_name(name)}`", text)
    return text


def main() -> int:
    stale: list[str] = []
    for name in algorithm_catalogue.names():
        path = PAGES / f"{name}.md"
        page = path.read_text(encoding="utf-8")
        fresh = with_table(page, algorithm_catalogue.load(name).Args)
        if fresh != page:
            stale.append(path.name)
            if "--check" not in sys.argv[1:]:
                path.write_text(fresh, encoding="utf-8")
    if stale and "--check" in sys.argv[1:]:
        print(f"the table of flags is not fresh in {', '.join(stale)}; run '{COMMAND}'", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
