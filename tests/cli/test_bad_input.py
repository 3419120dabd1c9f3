"""Bad input: a clear message, the documented exit code, and nothing made."""

import pytest

REFUSED = {
    "no such verb": (("tran",), 2, "did you mean 'mosaic train'"),
    "no algorithm": (("train",), 2, "mosaic train ppo"),
    "algorithm behind a flag": (("train", "--seed", "1"), 2, "the algorithm comes first"),
    "unknown algorithm": (("train", "pppo"), 2, "did you mean ppo"),
    "unknown flag": (("train", "ppo", "--num-env", "3"), 2, "--num-envs"),
    "no number": (("train", "ppo", "--num-envs", "many"), 2, "--num-envs"),
    "out of bounds": (("train", "ppo", "--gamma", "2", "--num-envs", "0"), 2, "--num-envs: must be greater"),
    "not a number": (("train", "ppo", "--gamma", "nan"), 2, "--gamma"),
    "run flag out of bounds": (("train", "ppo", "--cpus", "0"), 2, "--cpus"),
    "more GPUs than there are": (("train", "ppo", "--gpus", "99"), 2, "99 asked for"),
    "no such choice": (("train", "ppo", "--env-backend", "magic"), 2, "magic"),
    "seeds": (("train", "ppo", "--seeds", "5-1"), 2, "write 1-5 or 1,2,7"),
    "seeds twice": (("train", "ppo", "--seeds", "1,1"), 2, "twice"),
    "too many seeds": (("train", "ppo", "--seeds", "1-99999"), 2, "at most 1000"),
    "follow and detach": (("train", "ppo", "--follow", "--detach"), 2, "contradicts"),
    "unknown environment": (("train", "ppo", "--env-id", "CartPol-v1"), 2, "did you mean CartPole-v1"),
    "a wrapper that does not fit": (("train", "ppo", "--wrap", "ClipAction"), 2, "--wrap: ClipAction needs continuous"),
    "a wrapper for others": (
        ("train", "ppo_atari", "--wrap", "FrameStackObservation:4"),
        2,
        "--wrap: FrameStackObservation changes the stacks",
    ),
    "unknown run": (("show", "nothing like it"), 2, "'mosaic runs' lists"),
    "no run": (("show",), 2, "RUN"),
    "empty run": (("show", ""), 2, "not known"),
    "odd unicode": (("show", "\u202e%_\\"), 2, "not known"),
    "path for a run": (("cancel", "../../etc"), 2, "not known"),
    "before the first": (("show", "@last-99999"), 2, "there are"),
    "one of two is unknown": (("cancel", "@last", "nope-nope"), 2, "nope-nope"),
    "unknown state": (("runs", "--state", "asleep"), 2, "asleep"),
    "negative limit": (("runs", "--limit", "-1"), 2, "negative"),
    "unknown tag": (("metrics", "short one", "--tags", "charts/nope"), 2, "charts/SPS"),
    "csv and json": (("metrics", "short one", "--csv", "--json"), 2, "exclude"),
    "paused after its end": (("pause", "short one"), 2, "finished"),
    "continued after its end": (("continue", "short one"), 2, "finished"),
    "no policy file": (("evaluate", __file__), 2, "neither a policy of MOSAIC"),
    "no episodes": (("evaluate", "short one", "--episodes", "0"), 2, "at least 1"),
    "export over something": (("export", "short one", "/tmp"), 2, "exists already"),
    "export into nowhere": (("export", "short one", "/nonexistent/x.zip"), 2, "not a folder"),
    "label without text": (("label", "short one"), 2, "new label"),
    "no such shell": (("completion", "tcsh"), 2, "bash, zsh, fish"),
    "no such daemon verb": (("daemon", "dance"), 2, "start, run, stop"),
    "remote and not": (("--target", "127.0.0.1:1", "reindex"), 2, "127.0.0.1:1"),
    "target without TLS": (("runs", "--target", "example.org:50055"), 2, "certificate"),
    "malformed target": (("runs", "--target", "nonsense"), 2, "HOST:PORT"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_with_advice(mosaic, finished, case):
    words, code, advice = REFUSED[case]
    before = len(mosaic("runs", "--json", "--limit", "0").objects)
    said = mosaic(*words)
    assert said.code == code, said.err
    # tyro frames and wraps its messages.
    assert advice.lower() in " ".join(said.err.replace("│", " ").split()).lower()
    assert "Traceback" not in said.err
    assert len(mosaic("runs", "--json", "--limit", "0").objects) == before


def test_without_a_daemon_and_without_a_start_the_code_is_6(mosaic, tmp_path, monkeypatch):
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))
    for words in (("runs", "--no-start"), ("--no-start", "train", "ppo"), ("daemon", "status")):
        said = mosaic(*words)
        assert said.code == 6
        assert "mosaic daemon start" in said.err
    assert list(tmp_path.iterdir()) == []
    assert mosaic("daemon", "stop").code == 0


def test_nothing_listens_at_the_target(mosaic, tmp_path, monkeypatch):
    (tmp_path / "token").write_text("x")
    monkeypatch.setenv("MOSAIC_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("MOSAIC_TARGET", "127.0.0.1:1")
    assert mosaic("runs").code == 6


def test_an_unusable_home_is_code_4(mosaic, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "file" / "home"))
    said = mosaic("runs")
    assert said.code == 4
    assert "MOSAIC_HOME" in said.err
    assert mosaic("doctor", "--quick").code == 1


def test_a_run_that_fails_is_reported_with_its_last_words(mosaic):
    """A replay buffer that never fits: only the worker knows how large its observations are."""
    said = mosaic("train", "dqn", "--buffer-size", "100000000000", "--follow")
    assert said.code == 2
    assert "failed" in said.out
    assert "mosaic logs" in said.out
    assert "--buffer-size: needs" in said.out + said.err
