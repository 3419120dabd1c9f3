"""The documentation as a site (`make docs`): the pages of docs/ in their reading order, the help of every verb, search.

The pages keep their places beside each other, so that their links lead where they lead in the repository. A link that
leads nowhere, a page that no list names and a heading that is skipped end the build.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from mosaic.cli import VERBS

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "var" / "site-source"
SITE = ROOT / "var" / "site"
ROOT_PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
FOLDERS = ("docs", "examples")
LINKED = ("src/mosaic/rpc/trainer.proto", "src/mosaic/rpc/agent.proto")
"""Other files that pages link to; the site offers them."""
VERBS_FOLDER = "docs/verbs"
WIDTH = "110"
LINK = re.compile(r"\]\(([^)#\s]+\.md)[^)]*\)")


def main() -> int:
    for folder in (SOURCE, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    copy_pages()
    write_verbs()
    write_lists()
    shutil.copy(Path(__file__).with_name("conf.py"), SOURCE)
    words = ["-W", "--keep-going", "-q", "-j", "auto", "-b", "html", str(SOURCE), str(SITE)]
    code = subprocess.run([sys.executable, "-m", "sphinx", *words], check=False).returncode
    if code == 0:
        print(f"the site is {SITE.relative_to(ROOT)}/index.html")
    return code


def copy_pages() -> None:
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, SOURCE / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (*ROOT_PAGES, *LINKED):
        target = SOURCE / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)


def write_verbs() -> None:
    """A page for each verb, as its --help says."""
    folder = SOURCE / VERBS_FOLDER
    folder.mkdir()
    for verb, (_, about) in VERBS.items():
        words = [sys.executable, "-m", "mosaic.cli", verb, "--help"]
        said = subprocess.run(words, check=True, capture_output=True, text=True, env=_wide())
        (folder / f"{verb}.md").write_text(f"# {verb}\n\n{about[0].upper()}{about[1:]}.\n\n```text\n{said.stdout}```\n")
    rows = "".join(f"| [{verb}]({verb}.md) | {about} |\n" for verb, (_, about) in VERBS.items())
    text = f"# The command line, verb by verb\n\n[cli.md](../cli.md) explains them.\n\n| verb | |\n|---|---|\n{rows}"
    (folder / "README.md").write_text(text + _list_of(VERBS))


def write_lists() -> None:
    """The lists that make the side bar: of the sections of docs/README.md, and of the folders below it."""
    for name in ("algorithms", "protocols"):
        index = SOURCE / "docs" / name / "README.md"
        others = sorted(page.stem for page in index.parent.glob("*.md") if page != index)
        index.write_text(index.read_text() + _list_of(others))
    text = (SOURCE / "README.md").read_text()
    lists = _list_of(["docs/README"]) + "".join(_list_of(pages, caption=caption) for caption, pages in _sections())
    further = _list_of([f"{VERBS_FOLDER}/README", "CHANGELOG"], caption="Reference")
    # The README is the first page; its links lead from the same folder.
    (SOURCE / "index.md").write_text(text + lists + further)
    (SOURCE / "README.md").unlink()
    for page in (SOURCE / "docs").rglob("*.md"):
        page.write_text(page.read_text().replace("](../README.md", "](../index.md"))


def _sections() -> Iterator[tuple[str, list[str]]]:
    """Each section of the reading order and its pages."""
    docs = SOURCE / "docs"
    seen = {"README"}
    for section in re.split(r"(?m)^## ", (docs / "README.md").read_text())[1:]:
        caption = section.splitlines()[0].split(" ", 1)[-1].split(":")[0]
        found: list[str] = []
        for link in LINK.findall(section):
            name = (docs / link).resolve().relative_to(SOURCE).with_suffix("").as_posix()
            if name not in seen:
                seen.add(name)
                found.append(name)
        yield caption, found


def _list_of(pages: Iterable[str], *, caption: str = "") -> str:
    head = "\n```{toctree}\n:hidden:\n" + (f":caption: {caption}\n" if caption else "")
    return head + "\n" + "\n".join(pages) + "\n```\n"


def _wide() -> dict[str, str]:
    return {**os.environ, "COLUMNS": WIDTH, "NO_COLOR": "1"}


if __name__ == "__main__":
    raise SystemExit(main())
