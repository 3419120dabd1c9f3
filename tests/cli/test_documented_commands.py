"""Every command block of the README and of docs/*.md is typed, piped, in the order of its page.

Long budgets are cut by the rules of SHORTER; what cannot be typed here stands in NOT_TYPED with its reason. Both are
checked: a rule that fits nothing any more, and a reason for a command that is gone, fail. The README is typed on a
terminal as well, with its own budgets (tests/test_readme.py).
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .conftest import end_everything, state, steps, until
from .test_terminal import at_terminal

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
BIN = Path(sys.executable).parent
FENCE = re.compile(r"(?ms)^```(\w*)\n(.*?)^```")
SIDE_BY_SIDE = re.compile(r"(?m)^\| .+ \| (?P<here>.+) \|$")
"""A row of a page for users of another tool: what they typed there, and what they type here."""
IN_A_ROW = re.compile(r"`(mosaic .+?)`")
COMMENT = re.compile(r"\s+#(?= ).*$")
PROGRAMS = ("mosaic ", "docker ", "python ", "make ", "ssh ", "pip ", "export ", "WANDB_API_KEY=", "MOSAIC_TOKEN_FILE=")
SHELL = ("|", "$", "&&", "python ")

SHORTER = {
    r"--trials \d+": ("--trials 2 --confirm 0", "the same"),
    r"--total-timesteps [\w.]+": ("--total-timesteps 2560", "the command is tried, not what it learns"),
    r"--episodes \d+": ("--episodes 2", "the same"),
    r"--games \d+": ("--games 2", "the same"),
    r"mosaic evaluate (?!.*--episodes)": ("mosaic evaluate --episodes 2 ", "50 episodes by default"),
    r"replay @last --episode 3": ("replay @last --episode 2", "2 episodes were played"),
    r"--watch$": ("--watch --speed 0", "in real time an episode takes its time"),
    r"mosaic doctor": ("mosaic doctor --quick", "what renders: tests/cli/test_verbs.py"),
    r"--from-step 43008": ("--from-step 512", "the checkpoint that there is"),
}
"""A pattern, what stands in its place, and why."""

NOT_TYPED = {
    ("README.md", "make run"): "tests/test_readme.py types it",
    ("README.md", "make test"): "it would run this test",
    (
        "README.md",
        "python -m cleanrl_worker.algorithms.ppo --env-id CartPole-v1 --total-timesteps 10000 --quiet",
    ): "tests/test_readme.py types it",
    (
        "docs/actors.md",
        "mosaic play classic/rps-v2 --actor player_0=bdi_spade:open.asl --actor player_1=bdi_spade:sly.asl"
        " --param bdi_spade.port=5222",
    ): "an XMPP server takes long to start: tests/play/test_spade.py",
    (
        "docs/actors.md",
        "export MOSAIC_LLM_BASE_URL=http://127.0.0.1:11434/v1",
    ): "a language model: tests/play/test_llm.py",
    ("docs/actors.md", "mosaic play FrozenLake-v1 --actor llm:qwen3 --episodes 3 --param llm.memory=8"): "the same",
    ("docs/cluster.md", "mosaic train ppo --engine ssh --seeds 1-20"): "another machine: tests/trainer/cluster",
    ("docs/cli.md", "mosaic demo"): "tests/test_readme.py types it: make run",
    ("docs/cli.md", "mosaic tensorboard @last @last-1"): "until Ctrl-C: tests/cli/test_tensorboard.py",
    ("docs/cli.md", "mosaic wandb status @last"): "a tracked run: tests/track/test_daemon.py",
    ("docs/cli.md", "mosaic reindex"): "the daemon would start anew: tests/cli/test_verbs.py",
    ("docs/daemon.md", "ssh -L 50055:127.0.0.1:50055 gpu-box"): "network",
    ("docs/web.md", "mosaic web"): "until Ctrl-C: tests/cli/test_web.py",
    ("docs/web.md", "ssh -L 8777:127.0.0.1:8777 gpu-box mosaic web"): "network",
    (
        "docs/daemon.md",
        "MOSAIC_TOKEN_FILE=gpu-box.token mosaic --target 127.0.0.1:50055 runs",
    ): "behind ssh: tests/cli/test_remote.py",
    (
        "docs/daemon.md",
        "ssh -L /tmp/mosaic.sock:/home/you/.local/share/mosaic/trainer/daemon.sock gpu-box",
    ): "network",
    **{
        ("docs/installing.md", f"docker {words}"): "a daemon of Docker, and a network; the page says what was tried"
        for words in (
            "build -t mosaic .",
            "build -t mosaic:cuda --build-arg TORCH=cuda .",
            "run --rm --shm-size 1g -v mosaic-runs:/runs mosaic demo",
            "run --rm --shm-size 1g -v mosaic-runs:/runs --gpus all mosaic:cuda train ppo_atari --follow",
            "run --rm --shm-size 1g -v mosaic-runs:/runs --network host mosaic web",
        )
    },
    ("docs/from-cleanrl.md", "mosaic tensorboard first"): "until Ctrl-C: tests/cli/test_tensorboard.py",
    ("docs/from-cleanrl.md", "mosaic gui"): "a window: tests/gui",
    ("docs/from-cleanrl.md", "mosaic resume RUN"): "a run that was cut off: tests/cli/test_verbs.py",
    ("docs/from-cleanrl.md", "mosaic train --script my_script.py"): "tests/cli/test_scripts.py",
    ("docs/from-cleanrl.md", "mosaic evaluate model.cleanrl_model"): "docs/policies.md has it with a file",
    ("docs/from-stable-baselines3.md", "mosaic resume RUN"): "the same",
    ("docs/from-stable-baselines3.md", "mosaic train --script my_program.py"): "the same",
    ("docs/from-stable-baselines3.md", "mosaic import logs"): "tests/intake",
    (
        "docs/from-stable-baselines3.md",
        "mosaic train ppo --env-id LunarLander-v3 --preset tuned",
    ): "docs/presets.md has it with a shorter budget",
    ("docs/from-wandb.md", "mosaic gui"): "a window: tests/gui",
    ("docs/from-wandb.md", "mosaic publish RUN --repo ada/"): "network",
    ("docs/from-wandb.md", "mosaic import ~/wandb"): "tests/intake",
    ("docs/from-wandb.md", "mosaic wandb sync RUN"): "network",
    ("docs/from-wandb.md", "mosaic sweep sweep.yaml"): "tests/sweep/test_files.py",
    ("docs/policies.md", "mosaic publish @last --repo ada/ --dry-run out"): "docs/cli.md has it too",
    ("docs/play.md", "mosaic play CliffWalking-v1 --actor human"): "keys: tests/cli/test_play.py",
    ("docs/scripts.md", "mosaic watch @last"): "the run of a script, while it goes on: tests/foreign/test_frames.py",
    ("docs/tracking.md", "WANDB_API_KEY=… mosaic train ppo --track-wandb --wandb-project-name cartpole"): "network",
    ("docs/tracking.md", "mosaic wandb status @last"): "of the run before it",
    ("docs/tracking.md", "mosaic wandb probe"): "network",
    ("docs/tracking.md", "mosaic wandb sync @last"): "network",
}
BENCHMARKS = "docs/benchmarks.md"
"""Its commands measure for minutes: `make bench`."""
REFUSED = {("docs/play.md", "mosaic play CartPole-v1 --actor scripted:balance/lean.py"): "mosaic scripts add"}
"""Commands that a page shows for what they refuse, and what they say."""
AT_TERMINAL = "--watch"
"""What needs a terminal."""
SCRIPTS_MAY_RUN = ("docs/environments.md", "docs/matches.md")
"""Pages that say in a sentence that the folder of a script or wrapper must be allowed first."""
LABELS = {"demo": 0, "a": 0, "b": 1, "good": 0, "better": 1, "best": 2, "hello": 0, "big": 0}
"""Names that pages give to runs, and which of our three they are."""
OF_A_LIVING_RUN = ("mosaic pause big", "mosaic continue big", "mosaic cancel big", "mosaic resume big")
CANCELLED_AT_ONCE = ("train --script", "train --module", "--repeat --detach", "--preset tuned --learning-rate")
"""What they submit would go on for long."""


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    commands: tuple[str, ...]


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page that hold commands: behind "$ ", or one a line."""
    text = (ROOT / page).read_text()
    for found in FENCE.finditer(text):
        lines = found[2].splitlines() if found[1] in ("", "sh", "bash", "console") else []
        typed = [line[2:] for line in lines if line.startswith("$ ")]
        if not typed and lines and lines[0].startswith(PROGRAMS):
            typed = [line for line in lines if line.strip()]
        if typed:
            yield Block(page, text[: found.start()].count("\n") + 1, tuple(COMMENT.sub("", line) for line in typed))
    for row in SIDE_BY_SIDE.finditer(text) if page.startswith("docs/from-") else ():
        if typed := IN_A_ROW.findall(row["here"]):
            yield Block(page, text[: row.start()].count("\n") + 1, tuple(typed))


def every_command() -> list[tuple[str, str]]:
    return [(block.page, command) for page in PAGES for block in blocks(page) for command in block.commands]


def shorter(command: str) -> str:
    for pattern, (instead, _) in SHORTER.items():
        command = re.sub(pattern, instead, command)
    return command


@pytest.fixture(scope="module")
def trained(mosaic: Callable[..., Any]) -> list[str]:
    """The runs that the commands are about."""
    said = mosaic("train", "ppo", "--total-timesteps", "512", "--seeds", "1-3", "--follow", "--json")
    assert said.code == 0, said.err
    return sorted({line["run_id"] for line in said.objects})


@pytest.fixture(scope="module")
def desk(mosaic: Callable[..., Any], trained: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A user's home folder, in which the files lie that the pages speak of."""
    home = tmp_path_factory.mktemp("me")
    here = home / "games"
    here.mkdir()
    checkout = shutil.copytree(ROOT / "tests" / "foreign" / "checkout", home / "cleanrl")
    shutil.copy(checkout / "cleanrl" / "dqn.py", checkout / "cleanrl" / "ppo.py")
    [shown] = mosaic("show", trained[0], "--json").objects
    run_dir = Path(shown["run_dir"])
    shutil.copytree(run_dir / "tensorboard", home / "cleanrl" / "runs" / "CartPole-v1__ppo__1__1700000000")
    [policy] = [one["path"] for one in shown["artifacts"] if one["kind"] == "policy"]
    (home / "Downloads" / "CartPole-v1-ppo-seed1").mkdir(parents=True)
    shutil.copy(run_dir / policy, home / "Downloads" / "CartPole-v1-ppo-seed1")
    (here / "first_free.py").write_text("def select_action(view):\n    return list(view.legal).index(True)\n")
    (here / "alternate.py").write_text("def select_action(view):\n    return view.step % 2\n")
    (here / "balance").mkdir()
    (here / "balance" / "lean.py").write_text("def select_action(view):\n    return 0\n")
    (here / "balance.asl").write_text(shown_file("docs/actors.md", "prolog"))
    for page in ("docs/own-environments.md", "docs/offline.md"):
        for name, text in named_files(page).items():
            (here / name).write_text(text)
    (here / "plan.toml").write_text(shown_file("docs/matches.md", "toml").replace("episodes = 20", "episodes = 2"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("PATH", f"{BIN}:{os.environ['PATH']}")
        patch.setenv("MINARI_DATASETS_PATH", str(home / ".minari" / "datasets"))
        patch.chdir(here)
        yield here
        for folder in mosaic("scripts").out.splitlines():
            if folder.startswith(str(home)):
                mosaic("scripts", "remove", folder)


def shown_file(page: str, language: str) -> str:
    return next(found[2] for found in FENCE.finditer((ROOT / page).read_text()) if found[1] == language)


def named_files(page: str) -> dict[str, str]:
    """Files of Python that a page shows, which begin with a comment that is their name."""
    shown = [found[2] for found in FENCE.finditer((ROOT / page).read_text()) if found[1] == "python"]
    return {found[1]: text for text in shown if (found := re.match(r"# (\w+\.py)\n", text))}


@pytest.fixture(scope="module")
def typed(mosaic: Callable[..., Any], trained: list[str], desk: Path) -> Iterator[Callable[[str], tuple[int, str]]]:
    """`typed(command)`: how it ended, and all that it printed."""
    living: list[str] = []

    def name_runs(command: str, words: list[str]) -> None:
        """Give our runs the labels that a command calls them by."""
        if command in OF_A_LIVING_RUN:
            if not living:
                resting = ("--env-id", "resting:Resting-v0", "--total-timesteps", "100M")
                living.append(mosaic("train", "ppo", *resting).out.strip())
                until(lambda: steps(living[0]) > 0)
            mosaic("label", trained[0], "small")
            assert mosaic("label", living[0], "big").code == 0
        else:
            if living:
                mosaic("label", living[0], "no longer big")
            for word in {*words} & LABELS.keys():
                assert mosaic("label", trained[LABELS[word]], word).code == 0
        if command == "mosaic resume big":
            until(lambda: state(living[0]) == "cancelled")

    def type_in(command: str) -> tuple[int, str]:
        words = [os.path.expanduser(word) for word in shlex.split(command)]  # noqa: PTH111
        name_runs(command, words)
        if AT_TERMINAL in words:
            return at_terminal(words[1:], 100)
        if any(sign in command for sign in SHELL):
            done = subprocess.run(["bash", "-ec", command], capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr
        said = mosaic(*words[1:])
        if any(long in command for long in CANCELLED_AT_ONCE):
            mosaic("cancel", *said.out.split())
        return said.code, said.out + said.err

    yield type_in
    end_everything()  # Sweeps that go on would submit runs beside the tests of other files.


@pytest.mark.parametrize("page", [page for page in PAGES if page != BENCHMARKS and any(blocks(page))])
def test_the_commands_of_a_page_work(typed: Callable[[str], tuple[int, str]], desk: Path, page: str) -> None:
    failed: list[str] = []
    if any("@last" in command for block in blocks(page) for command in block.commands):
        # A reader has trained something like it; the pages before this one have left other runs.
        assert typed("mosaic train ppo --total-timesteps 1k --follow")[0] == 0
    if page in SCRIPTS_MAY_RUN:
        assert typed("mosaic scripts add .")[0] == 0
    for block in blocks(page):
        wanted = [command for command in block.commands if (page, command) not in NOT_TYPED]
        # What one line keeps in a variable the next one uses.
        for command in ["\n".join(wanted)] if any("$(" in command for command in wanted) else wanted:
            code, said = typed(shorter(command))
            refusal = REFUSED.get((page, command))
            if code != (2 if refusal else 0) or (refusal or "") not in said:
                failed.append(f"{page}:{block.line}: {shorter(command)!r} ended with {code}: {said[-800:]}")
    typed("mosaic scripts remove .")  # Where a page has allowed it: the next one begins without.
    for made in desk.glob("*my_ppo.py"):
        made.unlink()  # More than one page writes it.
    assert not failed, "\n".join(failed)


def test_what_is_not_typed_is_still_there() -> None:
    assert [key for key in (*NOT_TYPED, *REFUSED) if key not in every_command()] == []
    assert all(reason for reason in NOT_TYPED.values())
    for reason in NOT_TYPED.values():
        if path := re.search(r"tests/\S+\.py", reason):
            assert (ROOT / path[0]).exists(), reason


def test_every_rule_that_shortens_still_fits_a_command() -> None:
    commands = [command for _, command in every_command()]
    assert [pattern for pattern in SHORTER if not any(re.search(pattern, command) for command in commands)] == []


def test_blocks_of_commands_are_found() -> None:
    """One block of each way to write them."""
    assert ("README.md", "mosaic runs") in every_command()
    assert ("docs/cli.md", "mosaic metrics demo") in every_command()
    assert ("docs/actors.md", "mosaic play Taxi-v4 --actor bdi --episodes 10") in every_command()
    assert len(every_command()) > 60
