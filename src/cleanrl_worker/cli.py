"""`python -m cleanrl_worker.cli`: train from flags or from a config file, or evaluate as a config file asks."""

import sys
from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    # Imported here, because every process of the async env backend imports this module again: it needs no torch.
    from cleanrl_worker import evaluate
    from cleanrl_worker.sdk import command, document
    from cleanrl_worker.sdk import main as train
    from mosaic.errors import MosaicError
    from mosaic.spec.run_config import PolicyEvalExtras

    words = list(sys.argv[1:] if argv is None else argv)
    try:
        path = command.scan(words).config
        given = None if path is None else document.read_document(path)
    except MosaicError as error:
        return command.reported(error)
    if given is not None and isinstance(given.metadata.worker.config.extras, PolicyEvalExtras):
        return evaluate.main(words)
    return train(argv=words)


if __name__ == "__main__":
    raise SystemExit(main())
