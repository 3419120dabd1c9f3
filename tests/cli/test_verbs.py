"""Each verb against a real daemon and real short runs."""

import csv
import io
import json
import zipfile
from pathlib import Path

import pytest

from mosaic.cli.runs import follow_to_end


def test_train_prints_the_id_and_how_to_follow_when_piped(mosaic, until):
    said = mosaic("train", "ppo", "--total-timesteps", "600", "--notes", "hello")
    run_id = said.out.strip()
    assert said.code == 0
    assert len(run_id) == 26
    assert "mosaic follow" in said.err
    assert mosaic("follow", run_id).code == 0
    assert mosaic("show", run_id, "--json").objects[0]["notes"] == "hello"


def test_train_writes_every_flag_into_the_config(mosaic, finished):
    words = ("--num-envs", "2", "--no-anneal-lr", "--no-tensorboard", "--checkpoint-interval-s", "5", "--priority", "3")
    run_id = mosaic("train", "ppo", "--total-timesteps", "600", *words).out.strip()
    shown = mosaic("show", run_id, "--json").objects[0]
    worker = shown["config"]["metadata"]["worker"]["config"]
    assert worker["total_timesteps"] == 600
    assert worker["extras"]["algo_params"]["num_envs"] == 2
    assert worker["extras"]["algo_params"]["anneal_lr"] is False
    assert worker["extras"]["checkpoint_interval_s"] == 5
    assert shown["config"]["artifacts"]["tensorboard"]["enabled"] is False
    assert shown["priority"] == 3
    assert mosaic("follow", run_id).code == 0


def test_seeds_make_a_group_that_is_followed_together(mosaic):
    said = mosaic("train", "ppo", "--total-timesteps", "600", "--seeds", "1-2,5", "--label", "grouped", "--json")
    runs = said.objects
    assert [run["seed"] for run in runs] == [1, 2, 5]
    assert len({run["group"] for run in runs}) == 1
    followed = mosaic("follow", *(run["run_id"] for run in runs))
    assert followed.code == 0
    assert [line.split("  ")[0] for line in followed.out.splitlines()][-3:] == ["seed 1", "seed 2", "seed 5"]


def test_dry_run_makes_nothing(mosaic):
    before = len(mosaic("runs", "--json", "--limit", "0").objects)
    said = mosaic("train", "ppo", "--dry-run", "--json")
    assert said.code == 0
    assert said.objects[0]["summary"]["env_id"] == "CartPole-v1"
    assert len(mosaic("runs", "--json", "--limit", "0").objects) == before


def test_help_of_an_algorithm_shows_its_own_flags_with_docs(mosaic):
    said = mosaic("train", "dqn", "--help")
    assert said.code == 0
    assert "--buffer-size" in said.out
    assert "--checkpoint-interval-s" in said.out
    assert "Discount factor" in said.out


def test_runs_lists_newest_first_and_filters(mosaic, finished):
    listed = mosaic("runs", "--json", "--limit", "0").objects
    assert [run["run_id"] for run in listed] == sorted((run["run_id"] for run in listed), reverse=True)
    matching = mosaic("runs", "--json", "--text", "short one").objects
    assert finished in [run["run_id"] for run in matching]
    assert all("short one" in run["label"] for run in matching)
    assert len(matching) < len(listed) or all("short one" in run["label"] for run in listed)
    assert finished in mosaic("runs", "--state", "finished", "--limit", "0").out
    assert mosaic("runs", "--state", "lost").out == "no run matches\n"


@pytest.mark.parametrize("name", ["{id}", "{start}", "{end}", "{lower}", "short one", "SHORT ONE"])
def test_a_run_answers_to_id_prefix_suffix_and_label(mosaic, finished, name):
    others = [run["run_id"] for run in mosaic("runs", "--json", "--limit", "0").objects if run["run_id"] != finished]
    length = next(n for n in range(1, 27) if not any(other.startswith(finished[:n]) for other in others))
    word = name.format(id=finished, start=finished[:length], end=finished[-8:], lower=finished.lower())
    assert mosaic("show", word, "--json").objects[0]["run_id"] == finished


def test_last_counts_back_from_the_newest(mosaic, finished):
    newest = [run["run_id"] for run in mosaic("runs", "--json", "--limit", "2").objects]
    mosaic("train", "ppo", "--total-timesteps", "600", "--follow")
    assert mosaic("show", "@last-1", "--json").objects[0]["run_id"] == newest[0]
    assert mosaic("show", "@last", "--json").objects[0]["run_id"] not in newest


def test_show_tells_settings_and_what_was_left_behind(mosaic, finished):
    said = mosaic("show", finished)
    assert said.code == 0
    for word in ("short one", "finished", "learning_rate", "ppo.cleanrl_model", "mosaic evaluate"):
        assert word in said.out


def test_logs_and_their_tail(mosaic, finished):
    whole = mosaic("logs", finished).out
    assert "SPS:" in whole
    assert mosaic("logs", finished, "--tail", "2").out.splitlines() == whole.splitlines()[-2:]
    assert mosaic("logs", finished, "--tail", "100000").out == whole
    assert mosaic("logs", finished, "-f", "--tail", "0").out == ""
    assert mosaic("logs", finished, "--stderr").code == 0


def test_metrics_as_table_csv_and_json(mosaic, finished):
    assert "charts/episodic_return" in mosaic("metrics", finished).out
    rows = list(csv.DictReader(io.StringIO(mosaic("metrics", finished, "--csv", "--tags", "charts/SPS").out)))
    assert {row["tag"] for row in rows} == {"charts/SPS"}
    [series] = mosaic("metrics", finished, "--json", "--tags", "charts/SPS", "--points", "2").objects
    assert series["total"] == len(rows)
    assert len(series["values"]) == 2


def test_export_to_a_zip_and_to_a_folder_holds_the_whole_run(mosaic, finished, tmp_path: Path):
    assert mosaic("export", finished, str(tmp_path / "run.zip")).code == 0
    assert mosaic("export", finished, str(tmp_path / "run")).code == 0
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        zipped = {name.removeprefix(f"{finished}/") for name in archive.namelist()}
    copied = {path.relative_to(tmp_path / "run").as_posix() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert zipped == copied
    assert {"config.json", "events.jsonl", "analytics.json", "logs/cleanrl.stdout.log"} <= copied
    assert any(name.startswith("checkpoints/") for name in copied)
    assert [path.name for path in tmp_path.iterdir()].count("run.zip") == 1
    assert len(list(tmp_path.iterdir())) == 2


def test_label_and_notes(mosaic, finished):
    run_id = mosaic("train", "ppo", "--total-timesteps", "600").out.strip()
    assert mosaic("follow", run_id).code == 0
    said = mosaic("label", run_id, "renamed", "--notes", "two\nlines", "--json")
    assert (said.objects[0]["label"], said.objects[0]["notes"]) == ("renamed", "two\nlines")
    assert mosaic("show", "renamed", "--json").objects[0]["run_id"] == run_id


def test_pause_continue_cancel(mosaic, endless, state, until):
    assert mosaic("pause", endless, "--json").objects[0]["state"] == "paused"
    assert mosaic("continue", endless).code == 0
    until(lambda: state(endless) == "running")
    assert "saves a checkpoint" in mosaic("cancel", endless).out
    until(lambda: state(endless) == "cancelled")
    again = mosaic("cancel", endless)
    assert again.code == 0
    assert "already ended as cancelled" in again.out
    assert mosaic("follow", endless).code == 1


def test_resume_goes_on_from_the_checkpoint(mosaic, finished, until, state):
    run_id = mosaic("train", "ppo", "--total-timesteps", "2000").out.strip()
    assert mosaic("follow", run_id).code == 0
    said = mosaic("resume", run_id, "--follow")
    assert said.code == 0, said.err
    assert mosaic("show", run_id, "--json").objects[0]["attempt"] == 2
    refused = mosaic("resume", run_id, "--from-step", "7")
    assert refused.code == 2
    assert "no checkpoint of step 7" in refused.err


def test_delete_wants_a_yes(mosaic):
    run_id = mosaic("train", "ppo", "--total-timesteps", "600").out.strip()
    assert mosaic("follow", run_id).code == 0
    refused = mosaic("delete", run_id)
    assert refused.code == 2
    assert "--yes" in refused.err
    assert mosaic("delete", run_id, "--yes").code == 0
    assert mosaic("show", run_id).code == 2


def test_evaluate_a_run_and_a_policy_file(mosaic, finished):
    shown = mosaic("show", finished, "--json").objects[0]
    [policy] = [one["path"] for one in shown["artifacts"] if one["kind"] == "policy"]
    [summary] = mosaic("evaluate", finished, "--episodes", "3", "--json").objects
    assert summary["episodes"] == 3
    said = mosaic("evaluate", f"{shown['run_dir']}/{policy}", "--episodes", "2")
    assert said.code == 0
    assert said.out.startswith("2 episodes: return ")
    one = mosaic("evaluate", "@last", "--episodes", "1", "--stochastic")
    assert one.code == 0
    assert one.out.startswith("1 episode: return ")


def test_the_end_of_a_run_is_said_once(mosaic, monkeypatch):
    monkeypatch.setattr(follow_to_end, "PLAIN_LINE_S", 0.0)
    said = mosaic("train", "ppo", "--total-timesteps", "512", "--follow")
    assert (said.out + said.err).count("finished after") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", "ppo", "--priority", "99999999999"], "--priority: must be"),
        (["episodes", "--limit", "99999999999999"], "the number 99999999999999 does not fit into a request"),
    ],
)
def test_a_number_that_no_request_holds_is_refused(mosaic, words, said):
    refused = mosaic(*words)
    assert refused.code == 2
    assert said in refused.err


def test_policies_lists_what_runs_have_saved(mosaic, finished):
    [policy] = [one for one in mosaic("policies", finished, "--json").objects if one["run_id"] == finished]
    assert (policy["algo"], policy["env_id"], policy["seed"], policy["kind"]) == ("ppo", "CartPole-v1", 1, "mosaic")
    assert policy["global_step"] > 2000
    assert policy["last_return"] > 0
    assert policy["path"] in mosaic("policies", "short one", "--paths").out.splitlines()
    assert "short one" in mosaic("policies", "cartpole", "--limit", "0").out
    assert mosaic("policies", "no such thing").out.startswith("no policy yet")


def test_policies_are_compared_on_the_same_episodes(mosaic, finished):
    [policy] = mosaic("policies", finished, "--paths").out.split()
    twice = mosaic("evaluate", finished, policy, "--episodes", "5", "--json").objects
    assert [one["mean"] for one in twice] == [twice[0]["mean"]] * 2
    pair = twice[1]["paired"]
    assert (pair["episodes"], pair["difference"], pair["equal"]) == (5, 0.0, 1.0)
    said = mosaic("evaluate", finished, policy, "--episodes", "5")
    assert "+0.0 [+0.0, +0.0]" in said.out
    assert "every policy played the same episodes" in said.err
    assert "--detach" in mosaic("evaluate", finished, policy, "--repeat").err


def test_a_comparison_where_only_the_vector_can_be_seeded_claims_no_pairs(mosaic, finished):
    [policy] = mosaic("policies", finished, "--paths").out.split()
    words = ("evaluate", finished, policy, "--env-id", "only_vectors:Carts-v0", "--episodes", "12")
    said = mosaic(*words)
    assert said.code == 0, said.err
    assert "not paired" in said.err
    assert "same episodes" not in said.err
    assert [one["each_seeded"] for one in mosaic(*words, "--json").objects] == [False, False]


def test_an_evaluation_that_fails_says_why_once(mosaic, finished):
    said = mosaic("evaluate", finished, "--env-id", "Acrobot-v1", "--episodes", "1")
    assert said.code == 2
    assert said.err.count("observation space") == 1, said.err


def test_an_evaluation_films_where_asked(mosaic, finished):
    [summary] = mosaic("evaluate", finished, "--episodes", "2", "--video", "--json").objects
    shown = mosaic("show", summary["run_id"], "--json").objects[0]
    videos = [one["path"] for one in shown["artifacts"] if one["kind"] == "video"]
    assert videos == [f"videos/{summary['run_id']}-eval/rl-video-episode-0.mp4"]


def test_envs_and_algos(mosaic):
    assert mosaic("envs", "cartpole").out.splitlines()[0].startswith("CartPole")
    assert {"family": "classic_control", "env_id": "CartPole-v1"}.items() <= mosaic(
        "envs", "CartPole-v1", "--json"
    ).objects[0].items()
    assert {one["name"] for one in mosaic("algos", "--json").objects} >= {"ppo", "dqn"}
    assert "learning_rate" in mosaic("algos", "ppo").out


def test_daemon_status_and_logs(mosaic):
    [health] = mosaic("daemon", "status", "--json").objects
    assert health["pid"] > 0
    assert "runs already" in mosaic("daemon", "start").err
    assert "daemon.ready" in mosaic("daemon", "logs", "--tail", "0").out
    assert all(json.loads(line) for line in mosaic("daemon", "logs", "--json", "--tail", "3").out.splitlines())


def test_reindex_gives_the_same_list(mosaic, finished):
    before = mosaic("runs", "--json", "--limit", "0", "--kind", "all").objects
    assert mosaic("reindex", "--json").objects[0]["runs"] == len(before)
    after = mosaic("runs", "--json", "--limit", "0", "--kind", "all").objects
    kept = ("run_id", "state", "label", "global_step", "last_return", "notes", "exit_code")
    assert [[run[key] for key in kept] for run in after] == [[run[key] for key in kept] for run in before]


def test_doctor_finds_nothing_essential_broken(mosaic):
    findings = {one["what"]: one["level"] for one in mosaic("doctor", "--quick", "--json").objects}
    assert findings["python"] == findings["packages"] == findings["daemon"] == "ok"
    assert findings["mujoco"] in ("ok", "note")


def test_version(mosaic):
    assert mosaic("version").out.startswith("mosaic ")
    assert mosaic("--version").out == mosaic("version").out
