"""What is said of runs side by side."""

from dataclasses import replace

from mosaic.run_table.run_differences import Line, RunFacts, compared
from mosaic.run_table.table_rows import Summary
from mosaic.spec.config_settings import option_defaults, settings_of
from mosaic.spec.events import RunStarted
from mosaic.spec.run_dir import new_run_id
from mosaic.spec.run_record import RunRecord


def a_run(label: str, algo: str = "ppo", **settings: object) -> RunFacts:
    record = RunRecord(run_id=new_run_id(), label=label, algo=algo, env_id="CartPole-v1", last_return=12.0, attempt=1)
    started = RunStarted(
        algo=algo, env_id="CartPole-v1", seed=1, total_timesteps=9, code="abc", versions={"torch": "2.1"}
    )
    defaults = {"learning_rate": 1e-3, "num_envs": 4, "env.length": 0.5}
    given = {"learning_rate": 1e-3, "num_envs": 4} | settings
    return RunFacts(record, given, defaults, started, Summary(12.0, 20.0, 1.0, 9.0, 30))  # pyright: ignore[reportArgumentType]


def named(lines: object, name: str) -> Line:
    [line] = [line for line in lines if line.name == name]  # pyright: ignore
    return line


def test_settings_that_differ_from_each_other_and_from_their_default():
    found = compared([a_run("one"), a_run("two", learning_rate=2e-3)])
    line = named(found.shown(everything=False), "learning_rate")
    assert (line.cells, line.changed, line.default) == (("0.001", "0.002"), (False, True), "0.001")
    assert "num_envs" not in [line.name for line in found.shown(everything=False)]
    assert not named(found.shown(everything=True), "num_envs").differs


def test_what_a_run_does_not_name_of_its_environment_is_as_by_default():
    found = compared([a_run("one"), a_run("two", **{"env.length": 0.7})])
    line = named(found.lines, "env.length")
    assert (line.cells, line.changed) == (("0.5", "0.7"), (False, True))


def test_wrappers_are_told_in_the_words_of_their_flag_and_differ_from_none():
    limit = {"name": "TimeLimit", "arguments": {"max_episode_steps": 200}}
    stack = {"name": "FrameStackObservation", "arguments": {"stack_size": 4}}
    both = settings_of({"environment": {"settings": {"wrappers": [limit, stack]}}})
    runs = [
        replace(run, defaults={**run.defaults, "env.wrappers": None}) for run in (a_run("one"), a_run("two", **both))
    ]
    line = named(compared(runs).shown(everything=False), "env.wrappers")
    assert line.cells == ("none", "TimeLimit:max_episode_steps=200 FrameStackObservation:stack_size=4")
    assert (line.changed, line.default) == ((False, True), "none")


def test_code_versions_and_results_with_n():
    one, two = a_run("one"), a_run("two")
    assert two.started is not None
    two = replace(two, started=replace(two.started, code="def", versions={"torch": "2.2"}))
    shown = compared([one, two]).shown(everything=False)
    assert named(shown, "code").cells == ("abc", "def")
    assert named(shown, "torch").cells == ("2.1", "2.2")
    assert named(shown, "return").cells == ("12  n 30", "12  n 30")


def test_one_run_alone_is_held_against_its_defaults():
    shown = compared([a_run("one", num_envs=8)]).shown(everything=False)
    assert [line.name for line in shown if line.section == "settings"] == ["num_envs"]


def test_runs_without_code_and_versions_are_compared_too():
    old = replace(a_run("old"), started=None, returns=None, defaults={})
    shown = compared([old, a_run("new")]).shown(everything=False)
    assert named(shown, "code").cells == ("", "abc")
    assert named(shown, "return").cells == ("12", "12  n 30")


def test_settings_of_a_config_have_the_algorithms_first_and_the_environments_by_their_flag():
    extras = {
        "mode": "train",
        "notes": "x",
        "algo_params": {"gamma": 0.9, "capture_video": True},
        "capture_video": False,
    }
    document = {
        "environment": {"env_id": "A-v0", "settings": {"size": 5}},
        "resources": {"cpus": 2},
        "metadata": {"worker": {"config": {"extras": extras}}},
    }
    assert list(settings_of(document).items()) == [
        ("gamma", 0.9),
        ("capture_video", True),
        ("cpus", 2),
        ("env.size", 5),
    ]
    assert settings_of({"metadata": 3}) == {}
    damaged = {"environment": {"settings": {"wrappers": [3]}}}
    assert settings_of(damaged) == {"env.wrappers": [3]}
    assert option_defaults("train")["checkpoint_interval_s"] == 60.0
    assert "eval_episodes" in option_defaults("policy_eval")
