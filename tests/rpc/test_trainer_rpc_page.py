"""docs/protocols has every rpc and every field of our .proto files, in their words."""

import re
from pathlib import Path
from typing import Any

import pytest

from mosaic.rpc import agent_pb2, trainer_pb2

ROOT = Path(__file__).parents[2]
FILES = [("trainer.proto", "trainer-rpc.md", trainer_pb2), ("agent.proto", "agent.md", agent_pb2)]
RPC = re.compile(r"rpc (\w+)\((stream )?(\w+)\) returns \((stream )?(\w+)\);")
FIELD = re.compile(r"((?:repeated |optional )?\w+|map<[^>]+>) (\w+) = (\d+);")


def parsed(proto: str) -> tuple[list[tuple[str, ...]], dict[str, list[tuple[str, ...]]]]:
    """The rpcs, and the fields of each message, with the comments above them."""
    rpcs: list[tuple[str, ...]] = []
    messages: dict[str, list[tuple[str, ...]]] = {}
    comment, message = "", ""
    for line in map(str.strip, (ROOT / "src/mosaic/rpc" / proto).read_text().splitlines()):
        if line.startswith("//"):
            comment = f"{comment} {line.removeprefix('//').strip()}".strip()
            continue
        if found := RPC.fullmatch(line):
            name, sends, request, streams, reply = found.groups()
            rpcs.append((name, f"{sends or ''}{request}", f"{streams or ''}{reply}", comment))
        elif line.startswith("message "):
            message = line.split()[1]
            messages[message] = []
        elif message and (found := FIELD.fullmatch(line)):
            kind, name, number = found.groups()
            messages[message].append((name, kind.strip(), number, comment))
        comment = ""
    return rpcs, messages


def tables(proto: str) -> list[str]:
    rpcs, messages = parsed(proto)
    rows = [f"| `{name}` | `{request}` | `{reply}` | {text} |" for name, request, reply, text in rpcs]
    parts = ["\n".join(["| rpc | request | reply | what |", "|---|---|---|---|", *rows])]
    for message, fields in messages.items():
        rows = [f"| `{name}` | {kind} | {number} | {text} |" for name, kind, number, text in fields]
        if rows:
            head = [f"### `{message}`", "", "| field | type | number | what |", "|---|---|---|---|"]
            parts.append("\n".join([*head, *rows]))
    return parts


@pytest.mark.parametrize(("proto", "_page", "generated"), FILES)
def test_every_rpc_and_field_has_a_comment(proto: str, _page: str, generated: Any):
    rpcs, messages = parsed(proto)
    [service] = generated.DESCRIPTOR.services_by_name.values()
    assert [rpc[0] for rpc in rpcs] == [method.name for method in service.methods]
    for name, descriptor in generated.DESCRIPTOR.message_types_by_name.items():
        assert [field[0] for field in messages[name]] == [field.name for field in descriptor.fields]
    assert all(rpc[-1] for rpc in rpcs)
    assert all(field[-1] for fields in messages.values() for field in fields)


@pytest.mark.parametrize(("proto", "page", "_generated"), FILES)
def test_the_page_has_every_table(proto: str, page: str, _generated: Any):
    text = (ROOT / "docs/protocols" / page).read_text()
    for table in tables(proto):
        assert table in text, f"docs/protocols/{page} lacks or differs from:\n\n{table}"
