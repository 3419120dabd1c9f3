"""ValidateRun: a dry run through the real worker entry point, in a process of its own."""

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from mosaic.config import JsonObject
from mosaic.errors import ConfigError, MosaicError
from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec import run_config
from mosaic.spec.python_child import PythonChild
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.trainer import submit
from mosaic.trainer.catalog import Catalog
from mosaic.trainer.schedule import Slots
from mosaic.trainer.secrets import hide, of_dry_run
from mosaic.trainer.workers import WORKERS

TIMEOUT_S = 60.0


def validate(document: JsonObject, slots: Slots, catalog: Catalog) -> pb.ValidateRunReply:
    """What the worker says about this config, whole; rules that are broken come as problems with their paths."""
    try:
        options: dict[str, Any] = {"seeds": [], "client_key": "", "priority": 0, "refuse_code": catalog.refuse_code}
        options["sees_pixels"] = catalog.sees_pixels
        (accepted,) = submit.check(document, slots=slots, settings_of=catalog.settings_of, **options)
    except ConfigError as error:
        problems = [pb.ConfigProblem(path=problem.path, message=problem.message) for problem in error.problems]
        return pb.ValidateRunReply(output=str(error), problems=problems, exit_code=error.exit_code)
    except MosaicError as error:
        problems = [pb.ConfigProblem(path="", message=str(error))]
        return pb.ValidateRunReply(output=str(error), problems=problems, exit_code=error.exit_code)
    clean, secrets, module = accepted.document, accepted.secrets, WORKERS[accepted.record.kind].module
    with tempfile.TemporaryDirectory(prefix="mosaic-dry-run-") as name:
        file = Path(name) / "config.json"
        file.write_text(json.dumps(clean))
        run_dir = Home(Path(name)).run(new_run_id())
        words = ("--config", str(file), "--dry-run", "--emit-summary", "--run-dir", str(run_dir.root))
        given = of_dry_run(run_config.parse(clean).metadata.worker.config, {**os.environ, **secrets})
        child = PythonChild(module=module, words=words, variables=given, cwd=Path(name))
        try:
            done = child.run(
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S
            )
        except subprocess.TimeoutExpired as error:
            said = hide((error.output or b"").decode(errors="replace"), secrets)
            return pb.ValidateRunReply(output=f"{said}\nthe dry run did not end within {TIMEOUT_S:.0f} s")
    output = hide(done.stdout.decode(errors="replace"), secrets)
    last = output.strip().rpartition("\n")[2]
    summary = last.encode() if done.returncode == 0 and last.startswith("{") else b""
    return pb.ValidateRunReply(
        ok=done.returncode == 0, output=output, summary_json=summary, exit_code=max(done.returncode, 0)
    )
