"""`mosaic stats` over runs of a real daemon: tables, formats, figures, report, and what it refuses."""

import csv
import io
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

STEPS = ("--total-timesteps", "1024", "--num-envs", "4", "--num-steps", "32")


@pytest.fixture(scope="module")
def groups(mosaic: Callable[..., Any]) -> dict[str, list[str]]:
    """Ids of the runs of three groups: five seeds, five seeds elsewhere, two seeds."""
    made: dict[str, list[str]] = {}
    for label, env_id, seeds in (
        ("stat_five", "CartPole-v1", "1-5"),
        ("stat_other", "MountainCar-v0", "1-5"),
        ("stat_two", "CartPole-v1", "11-12"),
    ):
        words = ("--env-id", env_id, "--seeds", seeds, "--label", label, "--no-tensorboard", "--follow", "--json")
        said = mosaic("train", "ppo", *STEPS, *words)
        assert said.code == 0, said.err
        made[label] = sorted({line["run_id"] for line in said.objects})
    return made


def test_a_group_is_found_by_label_id_of_group_and_any_of_its_runs(mosaic, groups) -> None:
    by_label = mosaic("stats", "stat_five", "--json")
    assert by_label.code == 0, by_label.err
    [found] = by_label.objects
    assert (found["kind"], found["group"], found["env_id"], found["n"]) == ("scores", "stat_five", "CartPole-v1", 5)
    assert (found["runs"], found["seeds"]) == (groups["stat_five"], [1, 2, 3, 4, 5])
    group = mosaic("show", groups["stat_five"][0], "--json").objects[0]["group"]
    for word in (group, group[-8:], groups["stat_five"][2], "stat_five, seed 3"):
        assert mosaic("stats", word, "--json").objects[0]["n"] == (1 if "seed" in word else 5), word


def test_a_group_that_is_named_twice_is_one(mosaic, groups) -> None:
    assert len(mosaic("stats", "stat_five", groups["stat_five"][1], "--json").objects) == 1


def test_the_score_is_the_mean_return_that_runs_lists(mosaic, groups) -> None:
    [found] = mosaic("stats", "stat_five", "--json").objects
    shown = [mosaic("show", run_id, "--json").objects[0]["last_return"] for run_id in found["runs"]]
    assert found["scores"] == pytest.approx(shown, rel=1e-6)
    assert found["mean"]["value"] == pytest.approx(np.mean(shown))
    assert found["iqm"]["value"] == pytest.approx(np.mean(sorted(shown)[1:4]))


def test_five_seeds_are_rough_and_two_have_no_interval_but_every_seed(mosaic, groups) -> None:
    said = mosaic("stats", "stat_five", "stat_two", "--power", "--threshold", "5")
    assert said.code == 0, said.err
    rows = {line.split()[0]: line for line in said.out.splitlines() if line.startswith("stat_")}
    assert "] rough" in rows["stat_five"]
    assert "n = 2: every seed" in said.out
    assert "no interval below 5 seeds" in said.out
    assert "(n < 5: no interval)" in said.out
    assert "stat_two and stat_five in CartPole-v1" in said.out
    assert "reached 5" in said.out
    five, two = mosaic("stats", "stat_five", "stat_two", "--json").objects
    assert (five["remark"], five["iqm"]["low"] is None) == ("rough", False)
    assert (two["remark"], two["iqm"]["low"], two["mean"]["high"]) == ("no interval below 5 seeds", None, None)
    assert two["probability_of_improvement"]["low"] is None
    assert five["seeds_needed"] is None
    assert two["compared_with"] == "stat_five"


def test_groups_by_algorithm_take_environments_as_tasks(mosaic, groups) -> None:
    said = mosaic("stats", "one=stat_five,stat_other", "--by", "algo", "--json")
    assert said.code == 0, said.err
    *lines, overall = said.objects
    assert [(line["group"], line["env_id"]) for line in lines] == [("ppo", "CartPole-v1"), ("ppo", "MountainCar-v0")]
    assert (overall["kind"], overall["n"], overall["environments"]) == ("overall", 5, ["CartPole-v1", "MountainCar-v0"])
    assert overall["references"]["CartPole-v1"]["reference"] == 475
    cartpole, mountain = (np.array(line["scores"]) for line in lines)
    cart, hill = (overall["references"][env_id] for env_id in ("CartPole-v1", "MountainCar-v0"))
    scaled = [
        (scores - one["random"]) / (one["reference"] - one["random"])
        for scores, one in ((cartpole, cart), (mountain, hill))
    ]
    assert overall["mean"]["value"] == pytest.approx(np.mean([np.mean(each) for each in scaled]))
    assert overall["iqm"]["value"] == pytest.approx(np.mean(np.sort(np.concatenate(scaled))[2:-2]))
    apart = mosaic("stats", "one=stat_five,stat_other", "--by", "algo,env", "--json")
    assert [line["kind"] for line in apart.objects] == ["scores", "scores"]


def test_evaluations_are_counted_as_well(mosaic, groups) -> None:
    for run_id in groups["stat_two"]:
        assert mosaic("evaluate", run_id, "--episodes", "6").code == 0
    trained = mosaic("stats", "stat_two", "--json").objects[0]
    assert (trained["of"], trained["runs"]) == ("training", groups["stat_two"])
    ids = sorted(
        run["run_id"] for run in mosaic("runs", "--kind", "policy_eval", "--text", "stat_two", "--json").objects
    )
    for words in (("stat_two", "--evaluations"), (f"stat_two={','.join(ids)}",)):
        said = mosaic("stats", *words, "--json")
        assert said.code == 0, said.err
        found = said.objects[0]
        assert (found["of"], found["group"], found["runs"], found["area"]) == ("evaluation", "stat_two", ids, None)
    assert mosaic("stats", "@last", "--evaluations", "--json").objects[0]["runs"] == ids[-1:]
    mixed = mosaic("stats", f"mixed={ids[0]},stat_two")
    assert mixed.code == 2
    assert "mixes trainings and evaluations" in mixed.err


def test_an_evaluation_of_few_episodes_prints_no_interval(mosaic, groups) -> None:
    one = groups["stat_five"][0]
    assert "(n < 5: no interval)" in mosaic("evaluate", one, "--episodes", "4").out
    assert "] rough, in" in mosaic("evaluate", one, "--episodes", "6").out
    both = mosaic("evaluate", one, groups["stat_five"][1], "--episodes", "3", "--json")
    assert [line["iqm_low"] for line in both.objects] == ["nan", "nan"]
    assert both.objects[1]["paired"]["low"] is None


@pytest.mark.parametrize("form", ["markdown", "latex", "csv"])
def test_tables_come_in_the_formats_of_papers(mosaic, groups, form: str) -> None:
    said = mosaic("stats", "stat_five", "stat_two", "--format", form)
    assert said.code == 0, said.err
    if form == "markdown":
        rows = [line for line in said.out.splitlines() if line.startswith("| ")]
        assert {line.count("|") for line in rows[:4]} == {10}
        assert "| stat_five | CartPole-v1 | 5 |" in said.out
    elif form == "latex":
        assert r"\begin{tabular}" in said.out
        assert r"stat\_five & CartPole-v1 & 5 &" in said.out
        assert r"[95 \%]" in said.out
    else:
        read = list(csv.DictReader(io.StringIO(said.out)))
        assert [(row["group"], row["n"], row["remark"]) for row in read] == [
            ("stat_five", "5", "rough"),
            ("stat_two", "2", "no interval below 5 seeds"),
        ]
        assert (read[1]["iqm_low"], len(read[0]["scores"].split())) == ("", 5)


def test_figures_and_report_are_drawn(mosaic, groups, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = tmp_path / "report.html"
    words = ("stat_five", "stat_two", "--figures", str(tmp_path / "figures"), "--report", str(page), "--theme", "dark")
    said = mosaic("stats", *words)
    assert said.code == 0, said.err
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert names == {
        f"{name}.{end}" for name in ("curves", "scores", "profiles", "improvement") for end in ("png", "svg")
    }
    assert all((tmp_path / "figures" / name).stat().st_size > 5000 for name in names)
    text = page.read_text()
    assert text.count("<svg") == 8, "each figure for a light and for a dark ground"
    assert "no interval below 5 seeds" in text
    # Nothing is loaded: addresses are the names of XML name spaces, and links stay in the page.
    assert set(re.findall(r"https?://[^\"'< ]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "<script" not in text
    assert "<link" not in text
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', text)) <= set(ids)


def test_a_missing_plotting_library_is_refused_before_any_work(mosaic, groups, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr("mosaic.spec.catalogue.extras._is_found", lambda module: module != "matplotlib")
    said = mosaic("stats", "no such group", "--figures", str(tmp_path / "figures"))
    assert said.code == 3
    assert "needs the extra 'plots'" in said.err
    assert "plots" in said.err.rpartition(":")[2], "the line to type"
    assert not (tmp_path / "figures").exists()
    assert mosaic("stats", "stat_five").code == 0, "tables need nothing"


BAD = {
    "unknown": (("stat_fve",), "did you mean stat_five"),
    "environments": (("a=stat_five,stat_other",), "different environments (CartPole-v1, MountainCar-v0)"),
    "by": (("stat_five", "--by", "alog"), "did you mean algo"),
    "last": (("stat_five", "--last", "0"), "--last: must be at least 1"),
    "at": (("stat_five", "--at", "900k"), "before --at 900,000"),
    "reference": (("stat_five", "--reference", "CartPole-v1=5"), "is not ENV=RANDOM,GOOD"),
    "same reference": (("stat_five", "--reference", "CartPole-v1=5,5"), "are the same"),
    "report": (("stat_five", "--report", "here.pdf"), "ends with .html"),
    "shared runs": (("stat_five", "more=stat_five,stat_two"), "is in stat_five and in more"),
    "no group": ((), "GROUP is missing"),
    "nobody": (("stat_five,nosuch",), "group 'nosuch' is not known"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_answered_with_what_to_do(mosaic, groups, what: str) -> None:
    words, answer = BAD[what]
    said = mosaic("stats", *words)
    assert (said.code, said.out) == (2, "")
    assert answer in said.err


def test_an_unfinished_run_is_refused_or_named_as_left_out(mosaic, groups, endless: str) -> None:
    words = ("stats", f"mixed={groups['stat_five'][0]},{endless}", "--by", "env")
    said = mosaic(*words)
    assert said.code == 2
    assert f"{endless}: it is running" in said.err
    assert "--leave-out" in said.err
    alone = mosaic("stats", endless, "--leave-out")
    assert alone.code == 2
    assert "has a score" in alone.err


def test_trainings_of_different_lengths_count_up_to_the_shortest(mosaic, groups) -> None:
    longer = mosaic(
        "train", "ppo", "--total-timesteps", "2048", "--num-envs", "4", "--num-steps", "32", "--follow", "--json"
    )
    run_id = longer.objects[-1]["run_id"]
    said = mosaic("stats", "stat_five", run_id, "--json")
    assert said.code == 0, said.err
    assert "end between step 1,024 and 2,048: all count as they were at step 1,024" in said.err
    assert all(line["steps"] <= 1024 for line in said.objects)
    assert mosaic("stats", run_id, "--json").objects[0]["steps"] > 1024


def test_importing_the_statistics_loads_no_torch_scipy_or_matplotlib() -> None:
    check = (
        "import sys, mosaic.cli.statistics.stats, mosaic.statistics.improvement, mosaic.statistics.seed_curves;"
        "print([name for name in ('torch', 'scipy', 'matplotlib', 'gymnasium') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_json_has_no_number_that_json_does_not_know(mosaic, groups) -> None:
    said = mosaic("stats", "stat_two", "stat_five", "--threshold", "1e9", "--json")

    def refuse(word: str) -> None:
        raise AssertionError(word)

    for line in said.out.splitlines():
        found = json.loads(line, parse_constant=refuse)
        assert found["median_steps_to_threshold"] is None
        assert found["reached"] == 0
        assert math.isfinite(found["mean"]["value"])
