"""Paths of a home and a run: hostile ids and paths that leave a run are refused."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.errors import HomeUnusable, UnsafePath
from mosaic.spec.files.shared_files import temporary_of
from mosaic.spec.run_dir import Home, RunDir, checked_run_id, new_run_id, run_label

RUN = "01K9CG05J5Y0FFQMT1T920EZK2"
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    run_dir = Home(tmp_path / "home").run(RUN)
    run_dir.create()
    return run_dir


def test_new_ids_pass_their_own_check_and_differ() -> None:
    ids = {new_run_id() for _ in range(200)}
    assert len(ids) == 200
    assert all(checked_run_id(run_id) == run_id for run_id in ids)


@given(st.text(ALPHABET, min_size=25, max_size=25), st.sampled_from("01234567"))
def test_every_ulid_is_an_id(tail: str, first: str) -> None:
    assert checked_run_id(first + tail) == first + tail


@pytest.mark.parametrize(
    "hostile",
    [
        "",
        ".",
        "..",
        "../x",
        "../" + RUN,
        RUN + "/..",
        RUN + "/",
        "/" + RUN,
        "/etc/passwd",
        RUN.lower(),
        RUN + "0",
        RUN[:-1],
        RUN + "\n",
        " " + RUN,
        RUN + "\0",
        RUN[:-1] + "I",
        RUN[:-1] + "L",
        RUN[:-1] + "O",
        RUN[:-1] + "U",
        RUN[:-1] + "٣",
        RUN[:-1] + "２",
        RUN[:-1] + "ſ",
        "8" + RUN[1:],
        RUN * 1000,
        "~root",
        "walker, seed 1",
    ],
)
def test_an_id_that_is_no_ulid_is_refused_everywhere(hostile: str, tmp_path: Path) -> None:
    home = Home(tmp_path)
    for use in (checked_run_id, home.run, home.config, lambda text: home.worker_config(text, 1)):
        with pytest.raises(UnsafePath, match="not a run id"):
            use(hostile)


def test_a_folder_whose_name_is_no_id_is_no_run(tmp_path: Path) -> None:
    for name in ("", "..", "checkpoints", RUN.lower()):
        with pytest.raises(UnsafePath):
            RunDir(tmp_path / name)


@given(st.text())
def test_any_other_text_is_refused(text: str) -> None:
    if len(text) == 26 and set(text) <= set(ALPHABET):
        return
    with pytest.raises(UnsafePath):
        checked_run_id(text)


def test_the_home_is_laid_out_as_documented(tmp_path: Path) -> None:
    home, trainer = Home(tmp_path), tmp_path / "trainer"
    assert (home.index, home.lock) == (trainer / "index.sqlite", trainer / "daemon.lock")
    assert (home.socket, home.token) == (trainer / "daemon.sock", trainer / "daemon.token")
    assert home.config(RUN) == trainer / "configs" / f"config-{RUN}.json"
    assert home.config(RUN, policy=True) == trainer / "configs" / f"config-{RUN}-policy.json"
    assert home.worker_config(RUN, 3) == trainer / "configs" / f"worker-{RUN}-3.json"
    assert home.run(RUN).root == trainer / "runs" / RUN


def test_the_run_is_laid_out_as_documented(run_dir: RunDir) -> None:
    root = run_dir.root
    assert run_dir.run_id == RUN
    assert run_dir.events == root / "events.jsonl"
    assert run_dir.worker == root / "worker.json"
    assert run_dir.manifest == root / "analytics.json"
    assert run_dir.stdout == root / "logs" / "cleanrl.stdout.log"
    assert run_dir.stderr == root / "logs" / "cleanrl.stderr.log"
    assert run_dir.videos == root / "videos" / RUN
    assert run_dir.eval_videos == root / "videos" / f"{RUN}-eval"
    assert run_dir.checkpoint(500) == root / "checkpoints" / "step-500"
    assert run_dir.policy("label", "ppo") == root.resolve() / "runs" / "label" / "ppo.cleanrl_model"


def test_every_path_of_a_run_lies_in_its_folder(run_dir: RunDir) -> None:
    paths = [getattr(run_dir, name) for name, member in vars(RunDir).items() if isinstance(member, property)]
    for path in paths:
        if isinstance(path, Path):
            assert path.is_relative_to(run_dir.root)


def test_mosaic_home_chooses_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))
    assert Home.resolve() == Home(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOSAIC_HOME", "var")
    assert Home.resolve() == Home(tmp_path / "var")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MOSAIC_HOME", "~/mine")
    assert Home.resolve() == Home(tmp_path / "mine")


@pytest.mark.parametrize("chosen", [None, ""])
def test_without_mosaic_home_the_platform_chooses(chosen: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if chosen is None:
        monkeypatch.delenv("MOSAIC_HOME", raising=False)
    else:
        monkeypatch.setenv("MOSAIC_HOME", chosen)
    assert Home.resolve().root.is_absolute()
    assert "mosaic" in Home.resolve().root.parts


def test_a_home_of_an_unknown_user_is_unusable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOSAIC_HOME", "~nobody-has-this-name/x")
    with pytest.raises(HomeUnusable, match="MOSAIC_HOME"):
        Home.resolve()


def test_create_makes_private_folders_and_may_be_repeated(tmp_path: Path) -> None:
    home = Home(tmp_path / "new" / "home")
    for _ in range(2):
        home.create()
        home.run(RUN).create()
    for folder in (home.trainer, home.configs, home.runs, home.run(RUN).root, home.run(RUN).logs):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_home_below_a_regular_file_is_unusable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for home in (Home(tmp_path / "file"), Home(tmp_path / "file" / "deeper")):
        with pytest.raises(HomeUnusable, match="MOSAIC_HOME"):
            home.create()
        with pytest.raises(HomeUnusable, match="MOSAIC_HOME"):
            home.run(RUN).create()


def test_a_file_in_the_place_of_a_folder_makes_the_home_unusable(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.trainer.mkdir()
    home.configs.write_text("")
    with pytest.raises(HomeUnusable, match="configs"):
        home.create()


# Permission bits do not bite for root, but no user makes a folder in /proc.
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs Linux's /proc")
def test_a_home_where_nothing_can_be_made_is_unusable() -> None:
    with pytest.raises(HomeUnusable, match="/proc"):
        Home(Path("/proc/mosaic")).create()


@pytest.mark.skipif(os.geteuid() == 0, reason="permission bits do not bite for root")
def test_a_home_without_write_permission_is_unusable(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(HomeUnusable):
        Home(tmp_path).create()


@pytest.mark.parametrize("relative", ["events.jsonl", "a/b/c", "a/../b", ".", "runs/x/../../events.jsonl", "...", "~"])
def test_a_path_inside_the_run_is_allowed(relative: str, run_dir: RunDir) -> None:
    assert run_dir.inside(relative).is_relative_to(run_dir.root.resolve())


@pytest.mark.parametrize(
    "relative",
    ["..", "../x", "a/../../x", "/etc/passwd", f"../{RUN}x/y", "a/../../../..", "\0", "a\0b"],
)
def test_a_path_outside_the_run_is_refused(relative: str, run_dir: RunDir) -> None:
    with pytest.raises(UnsafePath, match=RUN):
        run_dir.inside(relative)


def test_a_symlink_that_points_outside_is_refused(run_dir: RunDir, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("")
    (run_dir.root / "file").symlink_to(tmp_path / "secret")
    (run_dir.root / "folder").symlink_to(tmp_path)
    (run_dir.root / "dangling").symlink_to(tmp_path / "not-there")
    (run_dir.root / "chain").symlink_to("folder")
    for relative in ("file", "folder", "folder/secret", "folder/new", "dangling", "chain/secret"):
        with pytest.raises(UnsafePath):
            run_dir.inside(relative)


def test_a_symlink_that_points_inside_is_followed(run_dir: RunDir) -> None:
    (run_dir.root / "latest").symlink_to("logs")
    assert run_dir.inside("latest/x") == run_dir.logs.resolve() / "x"


def test_a_loop_of_symlinks_is_refused(run_dir: RunDir) -> None:
    (run_dir.root / "a").symlink_to("b")
    (run_dir.root / "b").symlink_to("a")
    with pytest.raises(UnsafePath):
        run_dir.inside("a/x")


def test_a_home_behind_a_symlink_works(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "disk")
    run_dir = Home(tmp_path / "home").run(RUN)
    run_dir.create()
    assert run_dir.relative(run_dir.events) == "events.jsonl"
    assert run_dir.inside("logs").is_dir()


def test_relative_names_a_file_of_the_run_and_no_other(run_dir: RunDir, tmp_path: Path) -> None:
    assert run_dir.relative(run_dir.checkpoint(5)) == "checkpoints/step-5"
    with pytest.raises(UnsafePath):
        run_dir.relative(tmp_path / "elsewhere")


def test_what_is_still_being_written_is_not_a_file_of_the_run(tmp_path: Path) -> None:
    run_dir = Home(tmp_path / "home").run(RUN)
    run_dir.create()
    kept = run_dir.inside("policy.bin")
    kept.write_bytes(b"1")
    arriving = temporary_of(kept, ".1-2")
    arriving.write_bytes(b"2")
    removed = temporary_of(run_dir.checkpoint(5))
    removed.mkdir(parents=True)
    (removed / "state.json").write_text("{}")
    assert [name for name, _ in run_dir.files()] == ["policy.bin"]


@pytest.mark.parametrize(
    ("env_id", "algo", "label"),
    [
        ("CartPole-v1", "ppo", "CartPole-v1__ppo__1__1700000000"),
        ("ALE/Breakout-v5", "dqn_atari", "ALE-Breakout-v5__dqn_atari__1__1700000000"),
        ("my.module:Env-v0", "ppo", "my.module-Env-v0__ppo__1__1700000000"),
        ("../../x", "../y", "..-..-x__..-y__1__1700000000"),
    ],
)
def test_a_label_is_cleanrls_run_name_and_one_folder(env_id: str, algo: str, label: str) -> None:
    assert run_label(env_id, algo, 1, 1700000000) == label


@given(st.text(), st.text())
def test_a_label_is_always_one_folder_name(env_id: str, algo: str) -> None:
    label = run_label(env_id, algo, 1, 2)
    assert Path(label).name == label
    assert label.isascii()


def test_a_policy_whose_algorithm_would_leave_the_run_is_refused(run_dir: RunDir) -> None:
    with pytest.raises(UnsafePath):
        run_dir.policy("label", "../../../../x")
