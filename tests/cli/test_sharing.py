"""Tags at the submit, pinned runs, saved views, pages for others, and zip files for another home."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import mosaic as package
from mosaic.cli.runs import export
from mosaic.cli.sharing import curve_chart, html_page
from mosaic.cli.sharing.curve_chart import SeedPoints
from mosaic.errors import ConfigError, UnsafePath
from mosaic.notebook import training
from mosaic.run_table.saved_views import SavedViews
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord

HARM = '<img src=x onerror="alert(1)"></script><b>'


class Page(HTMLParser):
    """Everything of a page that a browser would load or run."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def tagged(mosaic) -> list[str]:
    """Two seeds of a group whose name is hostile."""
    words = ("--total-timesteps", "1200", "--num-envs", "4", "--seeds", "1-2", "--label", f"tag {HARM}")
    said = mosaic("train", "ppo", *words, "--tag", "shared-one", "--tag=baseline,v2", "--follow", "--json")
    assert said.code == 0, said.err
    return sorted({line["run_id"] for line in said.objects if "run_id" in line})


def test_tags_are_given_at_the_submit(mosaic, tagged):
    found = mosaic("runs", "--filter", "tag:shared-one", "--json").objects
    assert [(line["run_id"], line["tags"]) for line in reversed(found)] == [
        (run_id, ["baseline", "shared-one", "v2"]) for run_id in tagged
    ]
    refused = mosaic("train", "ppo", "--tag", "a:b")
    assert refused.code == 2
    assert "'a:b' is not a tag" in refused.err
    assert "needs a value" in mosaic("train", "ppo", "--tag").err


def test_a_misspelt_setting_from_python_is_named_as_it_was_written(mosaic):
    try:
        with pytest.raises(ConfigError) as refused:
            package.train("ppo", env_id="CartPole-v1", learning_rat=1e-3)
        assert (
            refused.value.sentence == "settings of ppo: learning_rat: is not one of them; did you mean learning_rate?"
        )
    finally:
        while training._clients:
            training._clients.pop().close()


def test_a_pinned_run_stays_at_the_top(mosaic, tagged):
    assert "is pinned" in mosaic("pin", tagged[0]).out
    assert mosaic("runs", "--limit", "1", "--json").objects[0]["run_id"] == tagged[0]
    assert mosaic("runs", "--filter", "algo:ppo", "--json").objects[0]["run_id"] == tagged[0]
    assert f"* tag {HARM}" in mosaic("runs").out
    assert mosaic("pin", tagged[0], "--remove").code == 0
    assert mosaic("runs", "--json").objects[0]["run_id"] != tagged[0]


def test_a_view_is_kept_shown_renamed_and_deleted(mosaic, tagged):
    made = mosaic(
        "runs", "--filter", "tag:shared-one", "--columns", "seed,return", "--sort", "seed", "--save-view", "mine"
    )
    assert made.code == 0, made.err
    [view] = mosaic("views", "--json").objects
    assert (view["name"], view["table"]["filter"], view["table"]["columns"]) == (
        "mine",
        "tag:shared-one",
        ["seed", "return"],
    )
    shown = mosaic("views", "show", "mine", "--json").objects
    assert [line["run_id"] for line in shown] == tagged
    assert "did you mean mine?" in mosaic("views", "show", "mime").err
    assert mosaic("views", "rename", "mine", "yours").code == 0
    assert mosaic("views", "delete", "yours").code == 0
    assert mosaic("views", "delete", "yours").code == 2
    assert "no saved views yet" in mosaic("views").out
    assert mosaic("runs", "--save-view", "all").code == 2


def test_a_damaged_file_of_views_is_set_aside_and_said(mosaic, tagged):
    views = SavedViews(Home.resolve())
    views.path.write_text('{"v": 1, "views": [')
    said = mosaic("views")
    assert said.code == 0
    aside = views.path.with_name("views.json.damaged-1")
    assert str(aside) in said.err
    assert aside.read_text() == '{"v": 1, "views": ['
    assert mosaic("runs", "--filter", "algo:ppo", "--save-view", "anew").code == 0
    # One view that cannot be read costs itself only, and stays in the file.
    document = json.loads(views.path.read_text())
    document["views"].append({"name": "of a newer version", "hologram": 3})
    views.path.write_text(json.dumps(document))
    said = mosaic("views", "--json")
    assert [line["name"] for line in said.objects] == ["anew"]
    assert "of a newer version" in said.err
    assert mosaic("views", "delete", "anew").code == 0
    assert "hologram" in views.path.read_text()
    views.path.write_bytes(b"\xff\xfe broken")
    assert "it is kept as" in views.listed()[1][0]
    assert not views.path.exists()


def test_a_page_loads_nothing_and_runs_nothing(mosaic, tagged, tmp_path: Path):
    out = tmp_path / "page.html"
    said = mosaic("export", *tagged, str(out), "--title", HARM, "--json")
    assert said.code == 0, said.err
    assert said.objects[0]["run_ids"] == tagged
    html = out.read_text()
    page = Page(html)
    assert not {"script", "iframe", "object", "embed", "link", "base", "form"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("style", "srcset", "href")]
    assert all(value.startswith("data:") for name, value in page.attributes if name == "src")
    assert f"tag {HARM}" in "".join(page.texts)
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    [style] = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ")
    assert f"style-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert 'class="curve"' in html
    assert "(n = 2, no interval below 5 runs)" in "".join(page.texts)
    again = mosaic("export", tagged[0], str(out))
    assert (again.code, "exists already" in again.err) == (2, True)
    assert (
        "did you mean charts/SPS" in mosaic("export", tagged[0], str(tmp_path / "x.html"), "--metrics", "chart/SPS").err
    )


def test_runs_in_one_zip_are_known_where_they_come_from(mosaic, tagged, tmp_path: Path):
    path = tmp_path / "runs.zip"
    assert mosaic("export", "--filter", "tag:shared-one", str(path)).code == 0
    said = mosaic("import", str(path), "--json")
    assert [(line["result"], line["run_id"]) for line in said.objects] == [("known", run_id) for run_id in tagged]
    assert mosaic("export", str(tmp_path / "none.zip")).code == 2
    assert mosaic("export", *tagged, "--filter", "tag:shared-one", str(tmp_path / "none.zip")).code == 2


class Rotating:
    """A daemon whose run removes an older checkpoint between the list of its files and their reading."""

    def __init__(self, files: list[str], removed: list[str]) -> None:
        self._removed, self._lists = removed, iter([files, [name for name in files if name not in removed]])
        self._there = files

    def files(self, run_id: str) -> dict[str, int]:
        self._there = next(self._lists, self._there)
        return dict.fromkeys(self._there, 1)

    def read_artifact(self, run_id: str, path: str) -> Iterator[bytes]:
        if path in self._removed:
            raise UnsafePath(f"'{path}' is not a file of run {run_id}")
        yield path.encode()


def test_an_older_checkpoint_that_goes_meanwhile_is_left_out_of_a_copy():
    run = RunRecord(run_id=new_run_id())
    files = ["a", "checkpoints/step-1/arrays.safetensors", "z"]
    copied = export.sources_of(Rotating(files, removed=files[1:2]), run)
    assert [(name, b"".join(pieces)) for name, pieces in copied] == [("a", b"a"), ("z", b"z")]


def test_a_file_that_is_there_and_cannot_be_read_ends_a_copy():
    class Unreadable(Rotating):
        def files(self, run_id: str) -> dict[str, int]:
            return {"a": 1}

    with pytest.raises(UnsafePath):
        list(export.sources_of(Unreadable(["a"], removed=["a"]), RunRecord(run_id=new_run_id())))


def test_a_band_is_drawn_from_five_runs_on():
    def runs(count: int) -> list[SeedPoints]:
        steps = np.arange(100.0)
        return [SeedPoints(steps, steps + seed) for seed in range(count)]

    four, five = (curve_chart.chart("x", [curve_chart.curve_of(0, runs(count))]) for count in (4, 5))
    assert ('class="band"' in four, four.count('class="seed"')) == (False, 4)
    assert ('class="band"' in five, five.count('class="seed"')) == (True, 0)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3e9, 7e9), (1e-9, 2e-9), (99.99, 100.01)])
def test_ticks_are_round_and_few(low: float, high: float):
    found = curve_chart.ticks(low, high)
    assert 2 <= len(found) <= curve_chart.TICKS + 1
    assert low <= found[0] < found[-1] <= high


def test_text_of_others_is_text():
    assert html_page.text("<a>&\"'\x1b[31m\n") == "&lt;a&gt;&amp;&quot;&#x27; "
