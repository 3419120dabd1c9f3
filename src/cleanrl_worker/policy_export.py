"""`python -m cleanrl_worker.policy_export`: a policy as a file that needs no MOSAIC, checked for equal actions.

Standard input is {"policy": FILE, "file": FILE.onnx or FILE.py, "algo": NAME, "env_id": ID}; the last two may be empty
and are for files that do not say it themselves. The last line of the output is {"algo": …, "env_id": …, "files": […],
"observations": n, "different": n, "largest": x, "where": TEXT}.
"""

import json
import sys
from pathlib import Path
from typing import Any

from cleanrl_worker.sdk.command import worker_flags
from cleanrl_worker.sdk.exported import write_export
from cleanrl_worker.sdk.policies.open_policy import open_policy
from mosaic import envs
from mosaic.errors import MosaicError


def main() -> int:
    envs.headless_defaults()
    try:
        made = export(**json.load(sys.stdin))
    except MosaicError as error:
        return worker_flags.reported(error)
    sys.stdout.write(json.dumps(made) + "\n")
    return 0


def export(*, policy: str, file: str, algo: str = "", env_id: str = "") -> dict[str, Any]:
    opened, actor = open_policy(Path(policy), algo=algo, env_id=env_id or None)
    made = write_export.written(opened, actor, Path(file))
    return {
        "algo": opened.algo,
        "env_id": opened.env_id,
        "files": [str(path) for path in made.files],
        **vars(made.compared),
    }


if __name__ == "__main__":
    raise SystemExit(main())
