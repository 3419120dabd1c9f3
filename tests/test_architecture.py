"""The import contracts hold, a violation is caught, and the light processes stay light."""

import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LINT = Path(sys.executable).with_name("lint-imports")


def lint(root: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [LINT, "--config", str(root / "pyproject.toml"), "--no-cache"],
        cwd=root,
        env={"PATH": str(LINT.parent), "PYTHONPATH": str(root / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def copy_of_the_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", root)
    return root


VIOLATIONS = (
    ("mosaic/spec/states.py", "mosaic.trainer.index.index_store", "mosaic: imports flow down"),
    ("mosaic/cli/runs/runs.py", "mosaic.trainer.index.index_store", "processes never import one another"),
    (
        "mosaic/trainer/index/index_store.py",
        "cleanrl_worker.sdk.checkpoints.state_tree",
        "processes never import one another",
    ),
    (
        "cleanrl_worker/sdk/checkpoints/state_tree.py",
        "cleanrl_worker.algorithms.ppo",
        "cleanrl_worker: imports flow down",
    ),
    ("cleanrl_worker/algorithms/ppo.py", "cleanrl_worker.algorithms.dqn", "algorithms stand alone"),
    ("mosaic/spec/states.py", "torch", "only workers load torch and gymnasium"),
    ("mosaic/trainer/index/index_store.py", "wandb", "trackers in their exporters only"),
    ("cleanrl_worker/sdk/checkpoints/state_tree.py", "pydantic", "tyro and pydantic behind mosaic.config"),
)
"""Lines that must not be there: file, what it imports, and the contract that says so."""


def test_the_contracts_hold() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def report_on_violations(copy_of_the_tree: Path) -> str:
    """Of all of them at once: reading the tree is what takes long."""
    for file, imported, _ in VIOLATIONS:
        path = copy_of_the_tree / "src" / file
        path.write_text(f"{path.read_text()}\nimport {imported}\n")
    done = lint(copy_of_the_tree)
    assert done.returncode != 0
    return done.stdout


@pytest.mark.parametrize(("file", "imported", "contract"), VIOLATIONS)
def test_a_violation_is_caught(report_on_violations: str, file: str, imported: str, contract: str) -> None:
    assert f"{contract} BROKEN" in report_on_violations
    broken = report_on_violations.partition("Broken contracts")[2]
    of_contract = re.split(r"(?m)^-+$", broken.partition(f"{contract}\n")[2])
    module = file.removesuffix(".py").replace("/", ".")
    assert f"{module} -> {imported} (l." in of_contract[1]


def test_a_package_without_a_place_is_caught(copy_of_the_tree: Path) -> None:
    (copy_of_the_tree / "src/mosaic/helpers").mkdir()
    (copy_of_the_tree / "src/mosaic/helpers/__init__.py").write_text("")
    done = lint(copy_of_the_tree)
    assert done.returncode != 0
    assert "mosaic.helpers" in done.stdout


@pytest.mark.parametrize(
    "module", ["mosaic.cli", "mosaic.trainer.daemon_process", "mosaic.rpc.client", "mosaic.gui.window"]
)
def test_light_processes_load_neither_torch_nor_gymnasium(module: str) -> None:
    code = f"import sys, {module}; print([name for name in ('torch', 'gymnasium') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_names_a_package_registry() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    hosts = [name.encode() for name in ("py" + "pi.org", "files.python" + "hosted.org", "registry.npm" + "js.org")]
    hosts += [b"deb." + b"debian.org", b"download.py" + b"torch.org"]
    guilty = [
        name
        for name in listed.splitlines()
        if (ROOT / name).is_file() and any(host in (ROOT / name).read_bytes() for host in hosts)
    ]
    assert guilty == []


def test_every_installed_package_is_pinned() -> None:
    def plain(name: str) -> str:
        return re.sub(r"[-_.]+", "-", name).lower()

    pins = {plain(line.split("==")[0]) for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    installed = {plain(found.metadata["Name"]) for found in metadata.distributions()}
    # What a person adds for himself is not the business of the lock: only what our extras bring is.
    needed = {"mosaic-rl"}
    while (
        more := {
            plain(match.group())
            for name in needed & installed
            for wanted in metadata.requires(name) or ()
            if (match := re.match(r"[\w.-]+", wanted)) and plain(match.group()) in installed
        }
        - needed
    ):
        needed |= more
    assert needed - pins - {"pip", "setuptools"} == {"mosaic-rl"}


def test_benchmarks_and_tools_import_modules_that_are_there() -> None:
    """No test runs most of them, so a module that moves would break them unseen."""
    missing: list[str] = []
    for path in [path for folder in ("bench", "tools", "examples") for path in ROOT.glob(f"{folder}/**/*.py")]:
        for module in re.findall(
            r"(?m)^\s*(?:from|import) ((?:mosaic|cleanrl_worker|bench)(?:\.\w+)*)", path.read_text()
        ):
            root = ROOT if module.split(".")[0] == "bench" else ROOT / "src"
            place = root.joinpath(*module.split("."))
            if not (place.is_dir() or place.with_suffix(".py").is_file()):
                missing.append(f"{path.relative_to(ROOT)}: {module}")
    assert not missing
