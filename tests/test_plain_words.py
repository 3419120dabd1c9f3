"""Comments, docs and messages name the user, the client or the process, in plain words."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PLACES = ("src", "docs", "tests", "tools", "bench", "examples", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
KINDS = {".py", ".md", ".proto", ".asl", ".toml", ".json", ".sh"}
THE_ONE = "say which one: the user, client, process, viewer, reader, caller, actor"
INSTEAD = {
    "whoever": THE_ONE,
    "somebody": THE_ONE,
    "someone": THE_ONE,
    "anybody": THE_ONE,
    "anyone": THE_ONE,
    "everybody": "say which: every actor, all clients",
    "everyone": "say which: every actor, all clients",
    "nobody": "no user, no client, no process; 'is not known' for 'nobody knows'",
    "people": "users; 'for the user' for 'for people'",
    "mend": "fix",
    "mended": "fixed",
    "mending": "an error, a fix",
    "reckon": "compute",
    "reckoned": "computed",
    "one's own": "your own, a user's own, its own",
    "such a one": "name it",
    "for want of": "without, because there is no",
}
"""Words that hide what is meant, and what to write."""
IS_NO = re.compile(r"(?<![Tt]here )(?<!nor )\b(?:is|are) no (?!longer\b|more\b|one\b|further apart)[\w`'*]+")
"""Of a thing: write that it is not a column, or that 0 means no limit."""
MEANT = {
    "--mend-returns": "a flag of pqn",
    "mend_returns": "the setting of that flag",
    "Mend Returns": "its title in the schema",
    "~nobody": "an account of Unix",
}
"""Names that hold such a word all the same, and why."""
WORDS = re.compile(rf"(?<![a-z])({'|'.join(sorted(INSTEAD, key=len, reverse=True))})(?![a-z])", re.IGNORECASE)


def riddles(text: str) -> list[str]:
    for name in MEANT:
        text = text.replace(name, "")
    return [word.lower() for word in (*WORDS.findall(text), *IS_NO.findall(text))]


def texts() -> Iterator[Path]:
    for place in PLACES:
        path = ROOT / place
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            if file.suffix in KINDS and file.is_file() and file != Path(__file__).resolve():
                yield file


def test_no_text_hides_what_it_means() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}: '{word}': {INSTEAD.get(word, 'is not a, means no')}"
        for path in texts()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1)
        for word in riddles(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Whoever asks is told", ["whoever"]),
        ("def test_somebody_waits", ["somebody"]),
        ("people's scripts, and one's own", ["people", "one's own"]),
        ("`--mend-returns`, a mended file, a recommendation", ["mended"]),
        ('"~nobody/x.py"', []),
        ("'x' is no column, though there is no other and it is no longer asked for", ["is no column"]),
    ],
)
def test_a_riddle_is_found_and_a_name_is_not(text: str, found: list[str]) -> None:
    assert riddles(text) == found
