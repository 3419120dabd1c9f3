"""Every algorithm's page (docs/algorithms, shown as help in the GUI) has the table of flags that its Args make."""

import runpy
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.sdk.command import algorithm_catalogue
from mosaic import config

ROOT = Path(__file__).parents[2]
TOOL: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "flag_tables.py"))


@pytest.mark.parametrize("name", algorithm_catalogue.names())
def test_the_table_of_flags_is_what_args_say(name: str) -> None:
    path: Path = TOOL["PAGES"] / f"{name}.md"
    page = path.read_text(encoding="utf-8")
    assert TOOL["with_table"](page, algorithm_catalogue.load(name).Args) == page, (
        f"{path.name} is stale: run '{TOOL['COMMAND']}'"
    )


def test_a_row_has_flag_default_and_the_sentence_under_the_field() -> None:
    schema = {
        "properties": {
            "num_envs": {"type": "integer", "default": 4, "description": "Side by side."},
            "anneal_lr": {"type": "boolean", "default": True, "description": "With num_envs."},
            "env_id": {"type": "string", "default": "A-v1", "description": "Which."},
            "target_kl": {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None, "description": "Most."},
        }
    }
    args = config.class_from_schema(schema, name="Args")
    page = "# x\n\n## Flags\n\n| flag |\n|---|\n| old |\n\nBy hand.\n\n| other |\n|---|\n"
    assert TOOL["with_table"](page, args) == (
        "# x\n\n## Flags\n\n"
        "| flag | default | meaning |\n|---|---|---|\n"
        "| `--num-envs` | 4 | Side by side. |\n"
        "| `--anneal-lr` | on | With `--num-envs`. |\n"
        "| `--env-id` | `A-v1` | Which. |\n"
        "| `--target-kl` | none | Most. |\n"
        "\nBy hand.\n\n| other |\n|---|\n"
    )
    with pytest.raises(ValueError, match="no table below '## Flags'"):
        TOOL["with_table"]("# x\n", args)
