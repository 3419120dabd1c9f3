"""Every Python process of ours is started in one way: no file of the current folder is imported, no key goes astray."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mosaic.spec.processes import secret_keys
from mosaic.spec.processes.python_child import NOWHERE, PythonChild, environment

SOURCES = Path(__file__).parents[2] / "src"
HELPER = SOURCES / "mosaic" / "spec" / "processes" / "python_child.py"
STARTS = {
    *(f"subprocess.{name}" for name in ("Popen", "run", "call", "check_call", "check_output", "getoutput")),
    *(f"os.{name}" for name in ("system", "popen", "posix_spawn", "posix_spawnp", "startfile")),
    *(f"os.{kind}{how}" for kind in ("exec", "spawn") for how in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe")),
}
OTHER_PROGRAMS = {
    SOURCES / "mosaic" / "cli" / "daemon" / "doctor.py": 1,
    SOURCES / "mosaic" / "alerts" / "desktop.py": 1,
    SOURCES / "mosaic" / "alerts" / "user_command.py": 1,
    SOURCES / "mosaic" / "trainer" / "engines" / "ssh_connection.py": 2,
}
"""Files that start a program which is not Python (nvidia-smi, notify-send, ssh, a user's command), and how often."""
TELLS = SOURCES / "mosaic" / "installation.py"
"""Names the interpreter in a line for the user to type."""
VARIABLES = {
    **{name: "key" for names in secret_keys.KEYS.values() for name in names},
    "MLFLOW_TRACKING_URI": "https://me:password@mlflow.example",
    "WANDB_VPN_HTTP_PROXY": "http://me:password@proxy.example",
    "WANDB_VPN_HTTPS_PROXY": "http://me:password@proxy.example",
    "WANDB_HTTP_PROXY": "http://me:password@proxy.example",
    "WANDB_HTTPS_PROXY": "http://me:password@proxy.example",
    "PATH": "/bin",
}


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _starts(path: Path) -> tuple[list[str], list[str]]:
    """Uses of the interpreter's path, and calls that start a program."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    interpreter = [_dotted(node) for node in nodes if _dotted(node) in ("sys.executable", "sys._base_executable")]
    # `subprocess.Popen[bytes]` is a type.
    types = {id(node.value) for node in nodes if isinstance(node, ast.Subscript)}
    calls = [_dotted(node) for node in nodes if _dotted(node) in STARTS and id(node) not in types]
    hidden = [
        f"from {node.module} import {alias.name}"
        for node in nodes
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if f"{node.module}.{alias.name}" in STARTS | {"sys.executable"}
    ]
    return interpreter + hidden, calls


def test_nothing_else_starts_python():
    found = {path: _starts(path) for path in SOURCES.rglob("*.py") if path != HELPER}
    assert found.pop(TELLS)[1] == []
    assert {path: names for path, (names, _) in found.items() if names} == {}
    assert {path: len(calls) for path, (_, calls) in found.items() if calls} == OTHER_PROGRAMS


def test_the_search_for_starts_finds_them(tmp_path):
    file = tmp_path / "bad.py"
    file.write_text(
        "import os, subprocess, sys\nx = subprocess.Popen\nx([sys.executable])\nfrom subprocess import run\n"
    )
    assert _starts(file) == (["sys.executable", "from subprocess import run"], ["subprocess.Popen"])


def test_a_child_and_what_it_starts_import_nothing_from_the_current_folder(tmp_path, planted):
    marker = planted(tmp_path)
    code = "import subprocess, sys, json, numbers; subprocess.run([sys.executable, '-c', 'import json, numbers'])"
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "prog.py").write_text(f"{code}; print(sys.path)")
    for search_path in (f":{tmp_path / 'own'}", f"{tmp_path / 'own'}:", f"own:{tmp_path / 'own'}"):
        base = {**os.environ, "PYTHONPATH": search_path}
        done = PythonChild(module="prog", base=base, cwd=tmp_path).run(capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert str(tmp_path) not in ast.literal_eval(done.stdout)
    assert not marker.exists()


def test_a_relative_entry_of_a_search_path_is_meant_from_here(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    made = environment(base={"PYTHONPATH": "src::/b:", "LD_LIBRARY_PATH": ":", "MOSAIC_HOME": "home"})
    assert made["PYTHONPATH"] == f"{tmp_path}/src:/b"
    assert "LD_LIBRARY_PATH" not in made
    assert made["MOSAIC_HOME"] == f"{tmp_path}/home"
    assert PythonChild(module="x").cwd == NOWHERE


@pytest.mark.parametrize("needed", [(), ("wandb",), ("mlflow",), ("hub",), ("llm",)])
def test_a_child_has_the_keys_that_it_needs_and_no_others(needed):
    wanted = {name for who in needed for name in secret_keys.KEYS[who]} | {"PATH", "PYTHONSAFEPATH"}
    assert set(environment(needed, base=VARIABLES)) == wanted


def test_an_address_without_a_password_is_no_key():
    plain = {"MLFLOW_TRACKING_URI": "http://127.0.0.1:5000", "WANDB_VPN_HTTP_PROXY": "http://proxy:3128"}
    assert plain.items() <= environment(base=plain).items()


def test_a_worker_that_is_started_by_hand_hands_its_folder_on(tmp_path):
    code = "from mosaic.spec.processes.python_child import own_path; print(own_path())"
    (tmp_path / "cleanrl_worker").mkdir()
    for name, text in (("__init__", ""), ("probe", code)):
        (tmp_path / "cleanrl_worker" / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "cleanrl_worker.probe"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == (str(tmp_path),)
    assert PythonChild(module="x", path=("/mine",), base={}).environment["PYTHONPATH"] == "/mine"
