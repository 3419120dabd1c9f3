"""Every algorithm's page (docs/algorithms, shown as help in the GUI) names each of its flags with its default."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.sdk import catalog
from mosaic import config

PAGES = Path(__file__).parents[2] / "docs" / "algorithms"
every = pytest.mark.parametrize("name", catalog.names())


def rows(page: str, heading: str) -> dict[str, list[str]]:
    """The table below a heading, by the names in its first cell."""
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return {name: rest for first, *rest in cells for name in re.findall("`([^`]+)`", first)}


def shown(default: Any) -> str:
    if default is None:
        return "none"
    if isinstance(default, bool):
        return "on" if default else "off"
    return f"`{default}`" if isinstance(default, str) else str(default)


@every
def test_every_flag_stands_in_the_page_with_its_default(name: str) -> None:
    table = rows((PAGES / f"{name}.md").read_text(encoding="utf-8"), "Flags")
    arguments = fields(catalog.load(name).Args)
    assert list(table) == [config.flag_name(field.name) for field in arguments]
    for field in arguments:
        default, meaning = table[config.flag_name(field.name)]
        assert default == shown(field.default), field.name
        assert meaning
