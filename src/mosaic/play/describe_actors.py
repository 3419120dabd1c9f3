"""`python -m mosaic.play.describe_actors`: the actors as JSON, for the daemon's catalogue (`spec.catalogue`)."""

import json
import sys
from collections.abc import Sequence

from mosaic import config
from mosaic.play import actors


def main(argv: Sequence[str] | None = None) -> int:
    del argv  # It has no flags.
    content = {"actors": [config.to_json(descriptor) for descriptor in actors.descriptors()]}
    sys.stdout.write(json.dumps(content) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
