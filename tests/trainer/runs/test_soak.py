"""The soak: the daemon killed many times, worker kills, stops, resumes and cancels between, then everything counted.

`make soak` runs it with 200 kills. It prints what was done and three counts, all of which must be 0:

    lost      an acknowledged run that is not there; an event that the spool does not have
    doubled   two runs of one client key; two processes that train one run; an event that the spool has twice
    wrong     a state that nothing asked for; metrics that differ from the events; a run that was disturbed and ends
              with other returns than the same run undisturbed
"""

import contextlib
import os
import random
import signal
import time
from collections import Counter
from dataclasses import dataclass, field

import psutil
import pytest

from mosaic.errors import MosaicError
from mosaic.rpc.client import Client, Refused
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE, TERMINAL, RunState

KILLS = int(os.environ.get("MOSAIC_SOAK", "3"))
"""Of the daemon."""
SEED = int(os.environ.get("MOSAIC_SOAK_SEED", "1"))
STEPS = 480 * 64
"""Whole rollouts, so that not a step less is made."""
SEEDS = (1, 2, 3)
AT_ONCE = 2
"""Runs of `STEPS` steps that are under way, beside one that is cancelled and resumed again and again."""
RETURNS = "charts/episodic_return"


@dataclass
class Tally:
    done: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        done = ", ".join(f"{count} {what}" for what, count in sorted(self.done.items()))
        return f"{done}\nlost {len(self.lost)}, doubled {len(self.doubled)}, wrong {len(self.wrong)}"


class Soak:
    def __init__(self, daemon, kit) -> None:
        self.daemon = daemon
        self.kit = kit
        self.choice = random.Random(SEED)
        self.tally = Tally()
        self.keys: dict[str, str] = {}
        """Every acknowledged submit: its client key, and the run."""
        self.exact: dict[str, int] = {}
        """Runs of `STEPS` steps that have not ended, and their seeds."""
        self.ended: dict[str, int] = {}
        self.endless = ""

    @property
    def client(self) -> Client:
        return self.daemon.client

    def submit(self, steps: int, seed: int) -> str:
        key = f"key {len(self.keys)}"
        document = self.kit.document(steps, seed=seed, extras={"checkpoint_interval_steps": 2048})
        run = self.client.submit(document, client_key=key)[0]
        self.keys[key] = run.run_id
        self.tally.done["submits"] += 1
        return run.run_id

    def fill_up(self) -> None:
        while len(self.exact) < AT_ONCE:
            seed = SEEDS[len(self.keys) % len(SEEDS)]
            self.exact[self.submit(STEPS, seed)] = seed
        if not self.endless:
            self.endless = self.submit(self.kit.ENDLESS, 9)

    def round(self) -> None:
        """Something that users and machines do, then the kill, then the next daemon."""
        self.fill_up()
        self.choice.choice([self.kill_a_worker, self.cancel, self.stop_a_worker, self.pause, self.nothing])()
        time.sleep(self.choice.uniform(0.0, 1.0))
        self.kill_daemon()
        if self.choice.random() < 0.2:
            self.kill_a_worker()
        if self.choice.random() < 0.2:
            self.daemon.begin()
            time.sleep(self.choice.uniform(0.0, 0.8))
            self.kill_daemon(what="kills of the daemon while it started")
        self.daemon.start()
        self.look()

    def kill_daemon(self, what: str = "kills of the daemon") -> None:
        self.daemon.kill()
        self.tally.done[what] += 1

    def workers(self) -> dict[int, str]:
        """Every process that trains one of our runs: more than one for a run is a copy."""
        found: dict[int, str] = {}
        for process in psutil.process_iter(["cmdline", "status"]):
            line = process.info["cmdline"] or []
            if "cleanrl_worker.cli" in line and "--run-dir" in line and process.info["status"] != "zombie":
                run_dir = line[line.index("--run-dir") + 1]
                if run_dir.startswith(str(self.daemon.home.root)):
                    found[process.pid] = run_dir.rpartition("/")[2]
        return found

    def signal_a_worker(self, number: signal.Signals, what: str) -> None:
        """Mostly one that has a checkpoint to go on from: one without is begun anew."""
        workers = self.workers()
        saved = [pid for pid, run_id in workers.items() if any(self.daemon.home.run(run_id).checkpoints.glob("step-*"))]
        if chosen := sorted(saved if saved and self.choice.random() < 0.8 else workers):
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.choice.choice(chosen), number)
                self.tally.done[what] += 1

    def kill_a_worker(self) -> None:
        self.signal_a_worker(signal.SIGKILL, "kills of a worker")

    def stop_a_worker(self) -> None:
        """As a user does who knows the process: it saves and ends."""
        self.signal_a_worker(signal.SIGTERM, "stops of a worker")

    def cancel(self) -> None:
        # Also one that must go on later, exactly where it was.
        run_id = self.choice.choice([self.endless, *self.exact])
        if self.client.cancel(run_id).state in (RunState.STOPPING, RunState.CANCELLED):
            self.tally.done["cancels"] += 1

    def pause(self) -> None:
        with contextlib.suppress(Refused):
            self.client.pause(self.choice.choice([self.endless, *self.exact]))
            self.tally.done["pauses"] += 1

    def nothing(self) -> None: ...

    def look(self) -> None:
        """After each start of a daemon: no run trains twice; what ended early goes on."""
        for run_id, copies in Counter(self.workers().values()).items():
            if copies > 1:
                self.tally.doubled.append(f"{copies} processes train {run_id}")
        for run_id in [self.endless, *self.exact]:
            self.go_on(self.client.get(run_id))

    def go_on(self, record: RunRecord) -> None:
        if record.state is RunState.PAUSED:
            with contextlib.suppress(MosaicError):
                self.client.go_on(record.run_id)
                self.tally.done["continues"] += 1
        elif self.is_done(record):
            self.ended[record.run_id] = self.exact.pop(record.run_id)
        elif record.state in TERMINAL:
            try:
                self.client.resume(record.run_id)
                self.tally.done["resumes"] += 1
            except Refused as error:
                if "no checkpoint" not in str(error):
                    if "still lives" not in str(error):
                        self.tally.wrong.append(f"resume of {record.run_id}: {error}")
                    return
                self.tally.done["runs given up, killed before their first checkpoint"] += 1
                self.exact.pop(record.run_id, None)
                self.endless = "" if record.run_id == self.endless else self.endless

    def is_done(self, record: RunRecord) -> bool:
        return record.state is RunState.FINISHED and record.global_step >= STEPS and record.run_id in self.exact

    def finish(self) -> None:
        """Undisturbed from here on: everything comes to its end."""
        deadline = time.monotonic() + 300
        while self.exact and time.monotonic() < deadline:
            for run_id in list(self.exact):
                self.go_on(self.client.get(run_id))
            time.sleep(0.2)
        self.tally.wrong += [f"{run_id} does not end: {self.client.get(run_id)}" for run_id in self.exact]
        if self.endless:
            self.client.cancel(self.endless)
            self.kit.eventually(lambda: self.client.get(self.endless).state in TERMINAL, 60, what="the cancel")

    def count(self) -> None:
        client = self.client
        known = {record.run_id: record for record in client.list()}
        self.tally.lost += [run_id for run_id in self.keys.values() if run_id not in known]
        strangers = set(known) - set(self.keys.values())
        self.tally.doubled += [f"{run_id} was never submitted, or twice" for run_id in strangers]
        self.tally.wrong += [f"{run_id} is {record.state}" for run_id, record in known.items() if record.state in LIVE]
        for run_id in known:
            self.check_events(run_id)
        reference = {seed: self.undisturbed(seed) for seed in sorted(set(self.ended.values()))}
        for run_id, seed in self.ended.items():
            if self.returns(run_id) != reference[seed]:
                self.tally.wrong.append(f"{run_id} has other returns than seed {seed} undisturbed")
        self.tally.done["runs compared with the same run undisturbed"] = len(self.ended)

    def check_events(self, run_id: str) -> None:
        path = self.daemon.home.run(run_id).events
        events = self.daemon.events(run_id) if path.exists() else []
        seen = Counter(event["seq"] for event in events)
        self.tally.done["events"] += len(events)
        self.tally.lost += [f"event {seq} of {run_id}" for seq in range(1, max(seen, default=0)) if not seen[seq]]
        self.tally.doubled += [f"event {seq} of {run_id}" for seq, count in seen.items() if count > 1]
        # What was done again after a resume takes the place of what was done before.
        told: list[tuple[int, float]] = []
        for event in events:
            if event["kind"] == "run.started" and event["resumed_from_step"] is not None:
                told = [point for point in told if point[0] <= event["resumed_from_step"]]
            elif event["kind"] == "episode":
                told.append((event["global_step"], event["episodic_return"]))
        if told != self.returns(run_id):
            self.tally.wrong.append(f"the metrics of {run_id} are not what its events tell")

    def returns(self, run_id: str) -> list[tuple[int, float]]:
        found = self.client.metrics(run_id, tags=[RETURNS]).get(RETURNS)
        return list(zip(found.steps, found.values, strict=True)) if found else []

    def undisturbed(self, seed: int) -> list[tuple[int, float]]:
        run_id = self.submit(STEPS, seed)
        self.daemon.until(run_id, "finished", timeout_s=120)
        return self.returns(run_id)


@pytest.mark.slow
@pytest.mark.timeout(600 + 20 * KILLS)
def test_nothing_is_lost_doubled_or_wrong(daemons, kit, capsys):
    soak = Soak(daemons("--no-warm", "--cpus", "4").start(), kit)
    while sum(count for what, count in soak.tally.done.items() if "of the daemon" in what) < KILLS:
        soak.round()
    soak.finish()
    soak.count()
    tally = soak.tally
    with capsys.disabled():
        print(f"\nsoak, seed {SEED}: {tally}")
    assert not tally.lost + tally.doubled + tally.wrong, (tally.lost, tally.doubled, tally.wrong)
