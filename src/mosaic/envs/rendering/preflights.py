"""`python -m mosaic.envs.rendering.preflights ENV…`: can each be rendered here? A JSON array a line.

["CartPole-v1", true, "none", "CartPole-v1 renders frames of shape (400, 600, 3)"]
"""

import json
import sys

from mosaic.envs.rendering.render_preflight import preflight


def main() -> None:
    for env_id in sys.argv[1:]:
        try:
            found = preflight(env_id)
            line = [env_id, found.ok, found.backend, found.message]
        except Exception as error:  # A border: the reason is what is asked for, and the next one is asked, too.
            line = [env_id, False, "", str(error)]
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
