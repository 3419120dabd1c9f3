"""docs/protocols says what the code says: every field, path, state and move, and examples that parse."""

import json
import re
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import pytest

from mosaic import config
from mosaic.spec import episode_file, events, manifest, run_config, run_record
from mosaic.spec.manifest import Artifact, Manifest
from mosaic.spec.presets import preset
from mosaic.spec.processes import process_identity
from mosaic.spec.processes.process_identity import ProcessIdentity
from mosaic.spec.run_dir import Home, PathBelow, RunDir
from mosaic.spec.run_record import Placed
from mosaic.spec.states import LIVE, TERMINAL, RunState, can_move
from mosaic.track.export_state import Export

PROTOCOLS = Path(__file__).parents[2] / "docs" / "protocols"
EXAMPLES = PROTOCOLS / "examples"
RUN = "01K9CG05J5Y0FFQMT1T920EZK2"
LONGEST_DEFAULT = 40
SPOOLS = sorted(path.name for path in EXAMPLES.glob("*.jsonl"))
SAVED = (events.CheckpointSaved, events.PolicySaved)
COLUMNS = ["name", "type", "default", "meaning"]
POWERS = {
    sign * 2**bits + less: f"{'-' * (sign < 0)}2^{bits}{less or ''}"
    for bits in (31, 32, 63)
    for sign, less in ((1, -1), (-1, 0))
}

# (file, heading, class, class whose fields stand in a table of their own)
TABLES = [
    ("run-config.md", "The document", run_config.TrainRunConfig, None),
    ("run-config.md", "`environment`", run_config.Environment, None),
    ("run-config.md", "`artifacts`", run_config.Artifacts, None),
    ("run-config.md", "`artifacts.tensorboard`, `artifacts.wandb`", run_config.Toggle, None),
    ("run-config.md", "`resources`", run_config.Resources, None),
    ("run-config.md", "`metadata`", run_config.Metadata, None),
    ("run-config.md", "`metadata.worker`", run_config.Worker, None),
    ("run-config.md", "`metadata.worker.config`", run_config.WorkerConfig, None),
    ("run-config.md", "`extras`, every kind", run_config.LiveView, None),
    ("run-config.md", "`extras`, training", run_config.TrainExtras, run_config.LiveView),
    ("run-config.md", "`extras`, evaluation of a policy", run_config.PolicyEvalExtras, run_config.LiveView),
    ("run-config.md", "`extras`, play", run_config.PlayExtras, run_config.LiveView),
    ("preset.md", "The document", preset.Preset, None),
    ("preset.md", "`measured`", preset.Measured, None),
    ("manifest.md", "The document", Manifest, None),
    ("manifest.md", "`artifacts`", Artifact, None),
    ("play.md", "`head`", episode_file.EpisodeHead, None),
    ("play.md", "`step`", episode_file.EpisodeStep, None),
    ("play.md", "`end`", episode_file.EpisodeEnd, None),
    ("run-directory.md", "`worker.json`", ProcessIdentity, None),
    ("run-directory.md", "`run.json`", Placed, None),
    ("run-directory.md", "`wandb/export.json`", Export, None),
    *(("events.md", f"`{kind}`", body, None) for kind, body in events.KINDS.items()),
]


def section(file: str, heading: str) -> str:
    """The text under a heading, up to the next one."""
    for part in re.split(r"(?m)^#+ ", (PROTOCOLS / file).read_text(encoding="utf-8")):
        title, _, text = part.partition("\n")
        if title == heading:
            return text
    pytest.fail(f"{file} has no heading '{heading}'")


def table(file: str, heading: str) -> list[list[str]]:
    """The cells of a section's table, row by row, its column names first."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section(file, heading).splitlines()
        if line.startswith("|") and not line.startswith("|---")
    ]
    assert rows, f"{file}, '{heading}' has no table"
    return rows


def field_rows(cls: type[Any], without: type[Any] | None = None) -> list[list[str]]:
    """The table of a class, from its JSON Schema."""
    schema: Any = config.json_schema(cls)
    left_out = config.json_schema(without)["properties"] if without else {}
    rows = [COLUMNS]
    for name, rules in schema["properties"].items():
        if name not in left_out:  # type: ignore[operator]
            meaning = rules.get("description") or definition(rules, schema)["description"]
            rows.append([f"`{name}`", type_text(rules, schema), default_text(name, rules, schema), meaning])
    return rows


def definition(rules: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    return schema["$defs"][rules["$ref"].rpartition("/")[2]]


def type_text(rules: dict[str, Any], schema: dict[str, Any]) -> str:
    if "$ref" in rules:
        return type_text(definition(rules, schema), schema)
    if members := rules.get("anyOf"):
        return " or ".join(type_text(member, schema) for member in members)
    if "oneOf" in rules or "properties" in rules:
        return "object, see below"
    if choices := rules.get("enum") or ([rules["const"]] if "const" in rules else None):
        return " or ".join(f"`{json.dumps(choice)}`" for choice in choices)
    match rules.get("type"):
        case "array":
            return f"list of {type_text(rules['items'], schema)}"
        case "object":
            return f"object of {type_text(rules['additionalProperties'], schema)}"
        case None:
            return "any JSON"
        case kind:
            return kind + bounds(rules)


def bounds(rules: dict[str, Any]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    limits = [f"{sign} {POWERS.get(rules[name], rules[name])}" for name, sign in signs.items() if name in rules]
    return ", not empty" if rules.get("minLength") == 1 else f" {', '.join(limits)}" if limits else ""


def default_text(name: str, rules: dict[str, Any], schema: dict[str, Any]) -> str:
    if name in schema.get("required", []):
        return "required"
    default = json.dumps(rules["default"])
    return f"`{default}`" if len(default) <= LONGEST_DEFAULT else "its own defaults"


def as_markdown(rows: list[list[str]]) -> str:
    head, *body = rows
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *body]).replace("| --- ", "|---")


@pytest.mark.parametrize(
    ("file", "heading", "cls", "without"), TABLES, ids=lambda value: getattr(value, "__name__", None)
)
def test_the_table_has_every_field_as_the_code_defines_it(file: str, heading: str, cls: Any, without: Any) -> None:
    wanted = field_rows(cls, without)
    assert table(file, heading) == wanted, f"{file}, '{heading}' should have\n\n{as_markdown(wanted)}"


def test_every_dataclass_of_a_file_has_a_table() -> None:
    documented = {cls for _, _, cls, _ in TABLES}
    # The head of an event has its own test; the others are parts of documented classes, or in no file.
    elsewhere = {events.Event, run_config.TrainOptions, run_record.Progress, run_record.RunRecord}
    for module in (run_config, events, manifest, preset, process_identity, run_record):
        own = [item for item in vars(module).values() if is_dataclass(item) and item.__module__ == module.__name__]
        assert set(own) <= documented | elsewhere


def test_events_md_has_the_head_of_an_event() -> None:
    rows = table("events.md", "The line")
    line = json.loads(events.encode(events.Event(1, 0.0, events.Warned(message=""))))
    assert [row[0].strip("`") for row in rows[1:]] == [key for key in line if key != "message"]


def test_run_config_md_names_every_secret() -> None:
    text = section("run-config.md", "Secrets")
    assert all(f"`{key}`" in text and f"`{variable}`" in text for key, variable in run_config.SECRETS.items())


def test_states_md_explains_every_state() -> None:
    rows = table("states.md", "The states")
    groups = {row[0].strip("`"): row[1] for row in rows[1:]}
    assert list(groups) == [state.value for state in RunState]
    for state in RunState:
        wanted = "terminal" if state in TERMINAL else "live" if state in LIVE else "waiting"
        assert groups[state.value] == wanted


def test_states_md_draws_every_move() -> None:
    head, *rows = table("states.md", "The moves")
    columns = [name.strip("`") for name in head[1:]]
    drawn = {
        (current.strip("`"), wanted)
        for current, *marks in rows
        for wanted, mark in zip(columns, marks, strict=True)
        if mark
    }
    assert drawn == {(a.value, b.value) for a in RunState for b in RunState if can_move(a, b)}
    assert {row[0].strip("`") for row in rows} == {state.value for state in RunState if state not in TERMINAL}


def paths_in_code() -> set[str]:
    """Every path that Home and RunDir know, with its variable parts as the docs spell them."""
    home = Home(Path("/home"))
    run = home.run(RUN)
    properties = [
        getattr(owner, name)
        for owner in (home, run)
        for name, member in vars(type(owner)).items()
        if isinstance(member, property | PathBelow)
    ]
    paths = [path for path in properties if isinstance(path, Path) and path != home.trainer]
    paths += [run.root, home.config(RUN), home.config(RUN, policy=True), home.worker_config(RUN, 7)]
    paths += [part("<tracker>") for part in (run.export_state, run.export_lock, run.export_log)]
    paths += [run.export_lock("wandb"), run.checkpoint(9), run.policy("<label>", "<algo>")]
    texts = {path.relative_to(home.trainer).as_posix().replace(RUN, "<RUN>") for path in paths}
    return {text.replace("-7.json", "-<slot>.json").replace("step-9", "step-<n>") for text in texts}


def test_run_directory_md_lists_every_path() -> None:
    listed = {row[0].strip("`").rstrip("/") for row in table("run-directory.md", "Below `<home>/trainer/`")[1:]}
    listed |= {
        f"runs/<RUN>/{row[0].strip('`').rstrip('/')}"
        for row in table("run-directory.md", "Below `<home>/trainer/runs/<RUN>/`")[1:]
    }
    assert listed == paths_in_code()


def test_the_index_links_every_page_and_every_example() -> None:
    text = (PROTOCOLS / "README.md").read_text(encoding="utf-8")
    links = set(re.findall(r"\]\(([^)#]+)\)", text))
    pages = {page.name for page in PROTOCOLS.glob("*.md")} - {"README.md"}
    examples = {f"examples/{example.name}" for example in EXAMPLES.iterdir()}
    assert pages | examples <= links
    assert all((PROTOCOLS / link).exists() for link in links)


def test_every_link_between_the_pages_leads_somewhere() -> None:
    for page in PROTOCOLS.glob("*.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (PROTOCOLS / link).exists(), f"{page.name}: {link}"


@pytest.mark.parametrize(
    ("name", "extras"),
    [
        ("run-config-train.json", run_config.TrainExtras),
        ("run-config-policy-eval.json", run_config.PolicyEvalExtras),
        ("run-config-play.json", run_config.PlayExtras),
    ],
)
def test_the_example_run_configs_parse(name: str, extras: type[Any]) -> None:
    parsed = run_config.parse(config.loads((EXAMPLES / name).read_bytes()))
    assert isinstance(parsed.metadata.worker.config.extras, extras)


def spool(name: str) -> list[events.Event]:
    with (EXAMPLES / name).open("rb") as lines:
        return [events.decode(line) for line in lines]


@pytest.mark.parametrize("name", SPOOLS)
def test_the_example_spools_are_what_a_worker_would_write(name: str) -> None:
    lines = (EXAMPLES / name).read_text(encoding="utf-8").splitlines()
    # As JSON, in which 755 and 755.0 are the same number.
    assert [json.loads(events.encode(event)) for event in spool(name)] == [json.loads(line) for line in lines]


def test_the_example_spools_have_every_kind_of_event() -> None:
    seen = {event.body.kind for name in SPOOLS for event in spool(name)}
    assert seen == set(events.KINDS)


def test_the_example_manifest_lists_only_what_the_example_events_saved() -> None:
    example = config.from_json_text(Manifest, (EXAMPLES / "analytics.json").read_bytes())
    RunDir(Path("runs") / example.run_id)
    saved = {event.body.path for event in spool("events.jsonl") if isinstance(event.body, SAVED)}
    listed = {artifact.path for artifact in example.artifacts if artifact.global_step is not None}
    assert listed
    assert listed <= saved


def test_the_example_worker_json_parses() -> None:
    assert config.from_json_text(ProcessIdentity, (EXAMPLES / "worker.json").read_bytes()).attempt == 2
