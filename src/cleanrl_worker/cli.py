"""`python -m cleanrl_worker.cli`: train from flags or a config file, run a script, or evaluate as a config asks."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    # Imported here, because every process of the async env backend imports this module again: it needs no torch.
    from cleanrl_worker import evaluate
    from cleanrl_worker.foreign import run_script
    from cleanrl_worker.sdk.command import carry_out, worker_flags
    from mosaic.errors import MosaicError
    from mosaic.scripts.script import is_script
    from mosaic.spec.processes import lease_file
    from mosaic.spec.run_config import PolicyEvalExtras

    lease_file.keep_to_it()
    try:
        line = worker_flags.scan(list(sys.argv[1:] if argv is None else argv))
        given = None if line.document is None else line.document.metadata.worker.config
    except MosaicError as error:
        return worker_flags.reported(error)
    if given is not None and isinstance(given.extras, PolicyEvalExtras):
        return evaluate.run(line)
    if is_script(line.algo or (given.algo if given else "")):
        return run_script.run(line)
    return carry_out.train(line)


if __name__ == "__main__":
    raise SystemExit(main())
