"""`python -m cleanrl_worker.cli`: train from flags or a config file, run a script, or evaluate as a config asks."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    # Imported here, because every process of the async env backend imports this module again: it needs no torch.
    from cleanrl_worker import evaluate
    from cleanrl_worker.foreign import launch
    from cleanrl_worker.sdk import command, document
    from cleanrl_worker.sdk import main as train
    from mosaic.errors import MosaicError
    from mosaic.scripts.script import is_script
    from mosaic.spec.run_config import PolicyEvalExtras

    words = list(sys.argv[1:] if argv is None else argv)
    try:
        scanned = command.scan(words)
        path = scanned.config
        given = None if path is None else document.read_document(path)
    except MosaicError as error:
        return command.reported(error)
    if given is not None and isinstance(given.metadata.worker.config.extras, PolicyEvalExtras):
        return evaluate.main(words)
    if is_script(scanned.algo or (given.metadata.worker.config.algo if given else "")):
        return launch.main(words)
    return train(argv=words)


if __name__ == "__main__":
    raise SystemExit(main())
