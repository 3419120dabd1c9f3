"""`mosaic runs --filter`, its columns and groups, and tags."""

import pytest


@pytest.fixture(scope="module")
def lake(mosaic) -> str:
    """A second run, of another algorithm and with a setting of its environment."""
    words = ("--env-id", "FrozenLake-v1", "--env.is_slippery", "false", "--total-timesteps", "1200")
    said = mosaic("train", "dqn", *words, "--learning-starts", "500", "--label", "on the lake", "--follow", "--json")
    assert said.code == 0, said.err
    return said.objects[-1]["run_id"]


def ids(said) -> list[str]:
    return [line["run_id"] for line in said.objects]


@pytest.fixture(scope="module", autouse=True)
def _untagged(mosaic, finished):
    """The run is shared with other files, and pages of the documentation put tags on what they find."""
    [shown] = mosaic("show", finished, "--json").objects
    for tag in shown["tags"]:
        mosaic("tag", finished, "--remove", tag)


def test_settings_metrics_and_facts_filter_sort_and_are_columns(mosaic, finished, lake):
    both = f"(id:{finished} or id:{lake})"
    assert ids(mosaic("runs", "--filter", f"{both} algo:ppo lr<1e-3", "--json")) == [finished]
    assert ids(mosaic("runs", "--filter", f"{both} env.is_slippery:false", "--json")) == [lake]
    assert ids(mosaic("runs", "--filter", f"{both} losses/value_loss.best>0", "--json")) == [finished]
    assert ids(mosaic("runs", "--filter", f"{both} kind:play", "--json")) == []
    assert finished in ids(mosaic("runs", "--filter", "kind:train", "--kind", "play", "--limit", "0", "--json"))
    by_steps = ("runs", "--filter", both, "--sort", "steps", "--json")
    assert ids(mosaic(*by_steps)) == [lake, finished]
    assert ids(mosaic(*by_steps, "--reverse")) == [finished, lake]
    said = mosaic("runs", "--filter", both, "--columns", "label,lr,charts/SPS.lowest", "--sort", "label")
    assert said.out.splitlines()[0].split() == ["run", "label", "learning_rate", "charts/SPS.lowest"]
    assert said.out.splitlines()[1].split()[:4] == [lake, "on", "the", "lake"]


def test_groups_tell_their_mean_and_n(mosaic, finished, lake):
    both = f"id:{finished} or id:{lake}"
    found = {
        line["group"]["algo"]: line for line in mosaic("runs", "--filter", both, "--group", "algo", "--json").objects
    }
    assert found.keys() == {"ppo", "dqn"}
    assert found["ppo"]["n"] == 1
    assert found["ppo"]["columns"]["return"]["low"] is None
    assert "n 1" in mosaic("runs", "--filter", both, "--group", "algo", "--columns", "return").out


def test_tags_are_put_on_taken_off_and_filtered_by(mosaic, finished, lake):
    assert mosaic("tag", lake, "paper", "wet").out.split() == [lake, "paper", "wet"]
    assert mosaic("tag", "--filter", f"id:{finished}", "paper", "--json").objects[0]["tags"] == ["paper"]
    assert set(ids(mosaic("runs", "--filter", "tag:paper", "--json"))) == {finished, lake}
    assert mosaic("tag", lake, "--remove", "wet", "--remove", "none_such").out.split() == [lake, "paper"]
    assert "paper" in mosaic("show", lake).out
    mosaic("tag", finished, "--remove", "paper")
    assert mosaic("tag", finished).out.split() == [finished, "no", "tags"]


def test_a_tag_outlives_the_index(mosaic, lake):
    mosaic("tag", lake, "kept")
    assert mosaic("reindex").code == 0
    assert "kept" in mosaic("show", lake, "--json").objects[0]["tags"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("runs", "--filter", "lrr<3"), "did you mean lr?\n    lrr<3\n    ^^^"),
        (("runs", "--filter", "losses/value_los>3"), "did you mean losses/value_loss"),
        (("runs", "--sort", "foo"), "--sort: 'foo' is not a column"),
        (("runs", "--sort", "algo,seed"), "--sort: 'algo,seed' is not a column"),
        (("runs", "--columns", "a b"), "--columns: 'a b' is not a column"),
        (("runs", "--reverse"), "--reverse needs --sort"),
        (("runs", "--watch", "--filter", "ppo"), "leave out --filter"),
        (("tag",), "RUN is missing"),
        (("tag", "--filter", "algo<3", "x"), "mosaic tag: --filter: 'algo' is text"),
    ],
)
def test_what_cannot_be_shown_is_refused_in_the_words_of_the_flags(mosaic, finished, words, said):
    refused = mosaic(*words)
    assert refused.code == 2
    assert said in refused.err


@pytest.mark.parametrize("tag", ["two words", "a,b", "", "x" * 41, "-x\x1b"])
def test_what_is_no_word_is_no_tag(mosaic, finished, tag):
    refused = mosaic("tag", finished, "--", tag)
    assert refused.code == 2
    assert mosaic("show", finished, "--json").objects[0]["tags"] == []


def test_runs_side_by_side_tell_settings_environment_code_and_results(mosaic, finished, lake):
    lines = {line["name"]: line for line in mosaic("diff", finished, lake, "--json").objects}
    assert lines["env.is_slippery"]["values"] == {finished: "", lake: "false"}
    assert lines["env.is_slippery"]["changed"] == [lake]
    assert lines["learning_starts"]["values"][lake] == "500"
    assert len(lines["code"]["values"][lake]) == 8
    assert "n " in lines["return"]["values"][finished]
    text = mosaic("diff", finished, lake).out
    assert "500*" in text
    assert "the same in all of them" in text
    assert "torch" in mosaic("diff", finished, lake, "--all").out


def test_one_run_is_held_against_the_defaults(mosaic, lake):
    said = mosaic("diff", lake, "--json")
    assert "learning_starts" in [line["name"] for line in said.objects]
    assert "gamma" not in [line["name"] for line in said.objects]
