"""docs/cli.md names every verb and every exit code that there is."""

import re
from pathlib import Path

from mosaic import cli
from mosaic.errors import HomeUnusable, MissingExtra, UnknownName
from mosaic.rpc.locate import DaemonUnavailable

TEXT = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()


def test_every_verb_is_documented():
    headings = " ".join(re.findall(r"^## (.*)$", TEXT, re.MULTILINE))
    assert [verb for verb in cli.VERBS if verb not in headings and f"`{verb}`" not in TEXT] == []


def test_the_list_at_the_top_has_every_verb():
    listed = TEXT.partition("## What holds for all verbs")[0]
    assert [verb for verb in cli.VERBS if not re.search(rf"(?<![\w-]){verb}(?![\w-])", listed)] == []


def test_the_exit_codes_are_those_of_the_table():
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)}
    raised = {error.exit_code for error in (HomeUnusable, MissingExtra, UnknownName, DaemonUnavailable)}
    assert documented == {0, 1, cli.DAMAGED, cli.INTERRUPTED, cli.PIPE_CLOSED} | raised
