"""The page that ships: built from these sources, light, and nothing in it makes markup of text or asks another site."""

import gzip
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUNDLE = ROOT / "src/mosaic/web/bundle"
MOST_BYTES = 200_000
CHECK = "tools/web_bundle.py"


def test_the_bundle_was_built_from_the_sources() -> None:
    checked = subprocess.run([sys.executable, ROOT / CHECK, "--check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_a_change_of_a_source_or_of_the_bundle_is_found(tmp_path: Path) -> None:
    copied = ("tools/web_bundle.py", "web/package.json", "web/package-lock.json", "web/tsconfig.json", "web/build.mjs")
    for name in copied:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "web/src", tmp_path / "web/src")
    shutil.copytree(BUNDLE, tmp_path / "src/mosaic/web/bundle")

    def check() -> str:
        command = [sys.executable, tmp_path / CHECK, "--check"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stderr

    assert check() == ""
    with (tmp_path / "web/src/dom.ts").open("a") as file:
        file.write("\n")
    assert "(sources changed); run 'make web'" in check()
    with (tmp_path / "src/mosaic/web/bundle/studio.js").open("a") as file:
        file.write("\n")
    assert "(sources, bundle changed)" in check()


def test_the_bundle_is_light() -> None:
    packed = sum(len(gzip.compress(file.read_bytes())) for file in BUNDLE.iterdir())
    assert packed < MOST_BYTES


def test_no_text_becomes_markup_and_nothing_is_asked_of_another_site() -> None:
    for source in (ROOT / "web/src").rglob("*.ts"):
        text = source.read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text), (
            source
        )
        assert set(re.findall(r"https?://[^\s\"'`]+", text)) <= {"http://www.w3.org/2000/svg"}, source
    assert not re.search(r"https?:", (BUNDLE / "index.html").read_text() + (BUNDLE / "studio.css").read_text())


def test_the_lock_file_names_no_registry() -> None:
    lock = json.loads((ROOT / "web/package-lock.json").read_text())
    assert all("resolved" not in package for package in lock["packages"].values())
    assert all("integrity" in package for name, package in lock["packages"].items() if name)
