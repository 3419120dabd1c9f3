"""A dry run: the checks of a submit, then the real worker's entry point in a fork of the warm one.

What the worker prints is told line by line while it runs. A client that goes away ends it.
"""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mosaic import config
from mosaic.config import JsonObject
from mosaic.errors import ConfigError, MosaicError
from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec import run_config
from mosaic.spec.processes.life_lock import INHERITED
from mosaic.spec.run_config import TrainRunConfig
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.trainer.catalogue.daemon_catalogue import Catalogue
from mosaic.trainer.engines.engine import EngineOf, Workshop
from mosaic.trainer.engines.warm_worker import THREAD_VARIABLES
from mosaic.trainer.runs import submit
from mosaic.trainer.runs.run_secrets import hide, of_dry_run
from mosaic.trainer.runs.schedule import Slots
from mosaic.trainer.runs.submit import Accepted, CallerGone
from mosaic.trainer.runs.worker_table import WORKERS

TIMEOUT_S = 300.0
LOOK_S = 0.01
MAX_OUTPUT_BYTES = 1 << 20
"""Of what the worker printed, the last part is answered."""


class DryRuns:
    """Tries configs; nothing is left behind."""

    def __init__(self, home: Home, slots: Slots, catalogue: Catalogue, workshop: Workshop, engine_of: EngineOf) -> None:
        self._home = home
        self._slots = slots
        self._catalogue = catalogue
        self._workshop = workshop
        self._engine_of = engine_of

    def run(self, document: JsonObject, *, is_wanted: Callable[[], bool]) -> Iterator[pb.DryRunUpdate]:
        """What the worker prints, in pieces of whole lines, and at the end what came of it."""
        try:
            accepted = self._checked(document)
        except MosaicError as error:
            broken = error.problems if isinstance(error, ConfigError) else ()
            problems = [pb.ConfigProblem(path=config.name_of_flag(one.path), message=one.message) for one in broken]
            problems = problems or [pb.ConfigProblem(path="", message=str(error))]
            reply = pb.ValidateRunReply(output=str(error), problems=problems, exit_code=error.exit_code)
            yield pb.DryRunUpdate(reply=reply)
            return
        with tempfile.TemporaryDirectory(prefix="mosaic-dry-run-") as name:
            yield from self._tried(accepted, Path(name), is_wanted)

    def _checked(self, document: JsonObject) -> Accepted:
        catalogue = self._catalogue
        options: dict[str, Any] = {"seeds": [], "client_key": "", "priority": 0}
        (accepted,) = submit.check(
            document,
            slots=self._slots,
            settings_of=catalogue.settings_of,
            refuse_code=catalogue.refuse_code,
            sees_pixels=catalogue.sees_pixels,
            misfits_of=catalogue.misfits_of,
            engine_of=self._engine_of,
            **options,
        )
        return accepted

    def _tried(self, accepted: Accepted, folder: Path, is_wanted: Callable[[], bool]) -> Iterator[pb.DryRunUpdate]:
        file = folder / "config.json"
        file.write_text(json.dumps(accepted.document))
        run_dir = Home(folder).run(new_run_id())
        argv = ["--config", str(file), "--dry-run", "--emit-summary", "--run-dir", str(run_dir.root)]
        parsed = run_config.parse(accepted.document)
        variables = _variables(parsed, self._home, accepted.secrets)
        module = WORKERS[accepted.record.kind].module
        trial = self._workshop.start_apart(module, argv, variables, folder)
        deadline = time.monotonic() + TIMEOUT_S
        said, rest = b"", b""
        try:
            while True:
                # In this order: what it printed last is read after its end is seen.
                code = trial.exit_code()
                rest += trial.new_output()
                whole = len(rest) if code is not None else rest.rfind(b"\n") + 1
                if whole:
                    yield pb.DryRunUpdate(output=_text(rest[:whole][-MAX_OUTPUT_BYTES:], accepted.secrets))
                    said, rest = (said + rest[:whole])[-MAX_OUTPUT_BYTES:], rest[whole:]
                if code is not None:
                    break
                if not is_wanted():
                    raise CallerGone
                if time.monotonic() > deadline:
                    said += f"\nthe dry run did not end within {TIMEOUT_S:.0f} s".encode()
                    break
                time.sleep(LOOK_S)
        finally:
            trial.end()
        output = _text(said, accepted.secrets)
        last = output.strip().rpartition("\n")[2]
        summary = last.encode() if code == 0 and last.startswith("{") else b""
        reply = pb.ValidateRunReply(ok=code == 0, output=output, summary_json=summary, exit_code=max(code or 0, 0))
        yield pb.DryRunUpdate(reply=reply)


def _variables(parsed: TrainRunConfig, home: Home, secrets: Mapping[str, str]) -> dict[str, str]:
    """As a run of this config has them."""
    given: dict[str, str] = dict.fromkeys(THREAD_VARIABLES, "1")
    given |= {"MOSAIC_HOME": str(home.root), INHERITED: "1"}
    if not parsed.resources.gpus:
        given["CUDA_VISIBLE_DEVICES"] = ""
    return given | of_dry_run(parsed.metadata.worker.config, {**os.environ, **secrets})


def _text(data: bytes, secrets: Mapping[str, str]) -> str:
    return hide(data.decode(errors="replace"), secrets)
