"""docs/protocols/trainer-rpc.md has every rpc and every field of trainer.proto, in its words."""

import re
from pathlib import Path

from mosaic.rpc import trainer_pb2 as pb

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "protocols" / "trainer-rpc.md"
PROTO = ROOT / "src" / "mosaic" / "rpc" / "trainer.proto"
RPC = re.compile(r"rpc (\w+)\((stream )?(\w+)\) returns \((stream )?(\w+)\);")
FIELD = re.compile(r"((?:repeated |optional )?\w+|map<[^>]+>) (\w+) = (\d+);")


def parsed() -> tuple[list[tuple[str, ...]], dict[str, list[tuple[str, ...]]]]:
    """The rpcs, and the fields of each message, with the comments above them."""
    rpcs: list[tuple[str, ...]] = []
    messages: dict[str, list[tuple[str, ...]]] = {}
    comment, message = "", ""
    for line in map(str.strip, PROTO.read_text().splitlines()):
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


def tables() -> list[str]:
    rpcs, messages = parsed()
    rows = [f"| `{name}` | `{request}` | `{reply}` | {text} |" for name, request, reply, text in rpcs]
    parts = ["\n".join(["| rpc | request | reply | what |", "|---|---|---|---|", *rows])]
    for message, fields in messages.items():
        rows = [f"| `{name}` | {kind} | {number} | {text} |" for name, kind, number, text in fields]
        if rows:
            head = [f"### `{message}`", "", "| field | type | number | what |", "|---|---|---|---|"]
            parts.append("\n".join([*head, *rows]))
    return parts


def test_every_rpc_and_field_has_a_comment():
    rpcs, messages = parsed()
    service = pb.DESCRIPTOR.services_by_name["Trainer"]
    assert [rpc[0] for rpc in rpcs] == [method.name for method in service.methods]
    for name, descriptor in pb.DESCRIPTOR.message_types_by_name.items():
        assert [field[0] for field in messages[name]] == [field.name for field in descriptor.fields]
    assert all(rpc[-1] for rpc in rpcs)
    assert all(field[-1] for fields in messages.values() for field in fields)


def test_the_page_has_every_table():
    page = PAGE.read_text()
    for table in tables():
        assert table in page, f"docs/protocols/trainer-rpc.md lacks or differs from:\n\n{table}"
