"""The pages say what the code says: flags, exit codes, fields."""

import inspect
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from worker_cases import CASES, Case
from worker_runs import events_of, policy_of

from cleanrl_worker.sdk import policy
from cleanrl_worker.sdk.checkpoints import checkpoint
from cleanrl_worker.sdk.command.worker_flags import CommonFlags, WorkerFlags
from cleanrl_worker.sdk.evaluation.eval_plan import EvalFlags
from mosaic import config, errors
from mosaic.errors import MosaicError
from mosaic.spec.events import KINDS, Scalars
from mosaic.spec.run_config import LiveView, TrainOptions
from mosaic.spec.run_dir import RunDir

DOCS = Path(__file__).parents[3] / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def rows(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading or a line, without its head."""
    _, _, below = text.partition(f"{heading}\n")
    assert below, f"no '{heading}'"
    table = re.search(r"(?m)(^\|.*\n)+", below)
    assert table
    lines = table[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def flag_rows(cls: type[Any], *without: type[Any]) -> list[list[str]]:
    schema: Any = config.json_schema(cls)["properties"]
    left_out = {field.name for each in without for field in fields(each)}
    return [
        [f"`{config.flag_name(name)}`", default_text(rules["default"]), rules["description"]]
        for name, rules in schema.items()
        if name not in left_out
    ]


def default_text(value: object) -> str:
    match value:
        case None | "":
            return "none"
        case bool():
            return "on" if value else "off"
        case str():
            return f"`{value}`"
        case _:
            return str(value)


@pytest.mark.parametrize(
    ("above", "wanted"),
    [
        ("These belong to the worker, whatever it does:", flag_rows(CommonFlags)),
        ("These to a training run:", flag_rows(WorkerFlags, CommonFlags, TrainOptions)),
        ("These to an evaluation:", flag_rows(EvalFlags, CommonFlags, LiveView)),
    ],
    ids=["common", "train", "evaluate"],
)
def test_worker_md_has_every_flag(above: str, wanted: list[list[str]]) -> None:
    assert rows(page("worker.md"), above) == wanted


def test_worker_md_has_every_exit_code() -> None:
    defined: dict[str, set[str]] = {}
    for name, error in inspect.getmembers(errors, inspect.isclass):
        if issubclass(error, MosaicError) and error is not MosaicError:
            defined.setdefault(str(error.exit_code), set()).add(name)
    written = {code: set(names.split(", ")) for code, _, names in rows(page("worker.md"), "## Exit codes") if names}
    assert written == defined


def test_worker_md_mentions_every_event_of_a_worker() -> None:
    named = {kind for cell, _ in rows(page("worker.md"), "## Events") for kind in re.findall(r"`([^`]+)`", cell)}
    assert named <= set(KINDS)
    assert {"run.started", "scalars", "episode", "checkpoint.saved", "run.completed", "run.failed"} <= named


def test_checkpoint_md_has_every_field_of_the_header() -> None:
    names = [row[0].strip("`") for row in rows(page("protocols/checkpoint.md"), "## `state.json`")]
    assert names == ["format", *(field.name for field in fields(checkpoint.Header)), "state", "files", "sha256"]
    assert checkpoint.FORMAT in page("protocols/checkpoint.md")


def test_checkpoint_md_has_every_part_of_the_state(straight_runs: Any) -> None:
    folder = checkpoint.latest(straight_runs(CASES["ppo"]))
    _, state = checkpoint.load(folder, algo="ppo")
    names = [row[0].strip("`") for row in rows(page("protocols/checkpoint.md"), "`state` has five parts.")]
    assert names == list(state)


def test_policy_file_md_has_all_metadata_and_every_group_of_arrays(case: Case, straight: RunDir) -> None:
    text = page("protocols/policy-file.md")
    data = policy_of(straight).read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    names = {row[0].strip("`") for row in rows(text, "## Metadata")}
    # Only a policy of a user's algorithm or environment has its source, only one of an environment with settings these.
    assert names == {*header["__metadata__"], "source", "env_settings", "env_sources"}
    groups = {row[0].split(".")[0].strip("`") for row in rows(text, "## Arrays")}
    assert {name.split(".")[0] for name in header if name != "__metadata__"} <= groups
    assert policy.FORMAT in text


@pytest.mark.parametrize("name", ["worker.md", "protocols/checkpoint.md", "protocols/policy-file.md"])
def test_every_json_example_is_json_and_every_link_leads_somewhere(name: str) -> None:
    text = page(name)
    for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL):
        json.loads(block)
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert ((DOCS / name).parent / link).exists(), link


def test_every_metric_that_a_run_logs_stands_in_the_algorithms_page(case: Case, straight: RunDir) -> None:
    described = rows(page(f"algorithms/{case.algo}.md"), "## Metrics")
    named = {name for first, *_ in described for name in re.findall("`([^`]+)`", first)}
    bodies = [event.body for event in events_of(straight)]
    tags = {tag for body in bodies if isinstance(body, Scalars) for tag in body.values}
    assert "charts/SPS" in tags
    assert named == tags | {"charts/episodic_return", "charts/episodic_length"}
    assert all(all(cells) for cells in described)
