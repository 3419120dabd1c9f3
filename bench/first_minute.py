"""What a new home costs: CPU seconds to the first line of `mosaic train`, to the window with its form, and dry runs.

`python -m bench.first_minute` (OMP_NUM_THREADS=1). CPU seconds, because the machine may do other things: those of the
command or the window, and those of the daemon and of its warm worker until then. Dry runs are held against a real start
to its first step, both warm. Exit code 1 if a figure misses its target.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from mosaic.rpc.client import Client
from mosaic.spec.run_dir import Home

MOSAIC = Path(sys.executable).parent / "mosaic"
TRAIN = ("train", "ppo", "--env-id", "CartPole-v1", "--total-timesteps", "512", "--detach")
TRIED = (("ppo", "CartPole-v1"), ("dqn", "LunarLander-v3"), ("ppo_continuous_action", "HalfCheetah-v5"))
TIMES = 3
MOST_FIRST_LINE_S, MOST_WINDOW_S, MOST_DRY_RUN = 3.0, 2.0, 2.0
WINDOW = """
import json, time
from mosaic.gui import app
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.spec.run_dir import Home
application = app.make_application()
opened = app.open_window(application, Home.resolve(), DaemonLink(Home.resolve()))
opened.window.show()
application.processEvents()
assert opened.window.form.form.fields, "no form"
print(json.dumps(time.process_time()))
"""


def beside(home: Home) -> tuple[float, float]:
    """CPU seconds of the daemon, and of its warm worker."""
    daemon = psutil.Process(json.loads(home.lock.read_text())["pid"])
    spent = [sum(process.cpu_times()[:4]) for process in (daemon, *daemon.children())]
    return spent[0], sum(spent[1:])


def end(home: Home) -> None:
    subprocess.run([MOSAIC, "daemon", "stop"], check=True, capture_output=True, env=_environment(home))


def first_line(home: Home) -> dict[str, float]:
    process = subprocess.Popen([MOSAIC, *TRAIN], env=_environment(home), stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    daemon, worker = beside(home)
    return {"command": used.ru_utime + used.ru_stime, "daemon": daemon, "warm worker": worker}


def started_s(program: str, home: Home, starts: int) -> float:
    """Processor seconds of a process until its window is there; the least of a few."""
    command, environment = [sys.executable, "-c", program], _environment(home) | {"QT_QPA_PLATFORM": "offscreen"}
    outputs = (subprocess.run(command, env=environment, check=True, capture_output=True).stdout for _ in range(starts))
    return min(float(json.loads(output.splitlines()[-1])) for output in outputs)


def dry_run_ratio(client: Client, algo: str, env_id: str) -> tuple[float, float]:
    """Seconds of a dry run, and of a real start until its first step; medians."""
    worker = {"algo": algo, "env_id": env_id, "total_timesteps": 10_000_000, "extras": {"algo_params": {}}}
    document = {"environment": {"env_id": env_id}, "artifacts": {}, "metadata": {"worker": {"config": worker}}}
    tried, started = [], []
    for _ in range(TIMES):
        began = time.perf_counter()
        assert client.validate(document).ok
        tried.append(time.perf_counter() - began)
        began = time.perf_counter()
        [run] = client.submit(document)
        while client.get(run.run_id).global_step == 0:
            time.sleep(0.005)
        started.append(time.perf_counter() - began)
        client.cancel(run.run_id)
        client.wait(run.run_id)
    return statistics.median(tried), statistics.median(started)


def _environment(home: Home) -> dict[str, str]:
    return os.environ | {"MOSAIC_HOME": str(home.root)}


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as folder:
        home = Home(Path(folder) / "train")
        parts = first_line(home)
        whole = sum(parts.values())
        figures = [("first line of `mosaic train`, CPU s in all", whole, MOST_FIRST_LINE_S)]
        print(", ".join(f"{name} {seconds:.2f} s" for name, seconds in parts.items()))
        painted = started_s(WINDOW, Home(Path(folder) / "window"), TIMES)
        figures.append(("window painted with its form, CPU s", painted, MOST_WINDOW_S))
        with Client(home=home, start=False) as client:
            while not client.health().warm_workers:
                time.sleep(0.2)
            for algo, env_id in TRIED:
                tried, started = dry_run_ratio(client, algo, env_id)
                print(f"{algo} on {env_id}: dry run {tried:.2f} s, real start to its first step {started:.2f} s")
                figures.append((f"dry run of {algo} on {env_id}, times a real start", tried / started, MOST_DRY_RUN))
        end(home)
    for name, value, most in figures:
        print(f"{name:<66} {value:5.2f}  (at most {most:g})")
    return int(any(value > most for _, value, most in figures))


if __name__ == "__main__":
    raise SystemExit(main())
