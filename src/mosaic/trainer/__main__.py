"""`python -m mosaic.trainer`: the daemon in the foreground."""

import gc

# A fifth of the time to the first answer otherwise goes into looking for garbage among modules, which stay.
gc.disable()

from mosaic.trainer.program import main  # noqa: E402

if __name__ == "__main__":
    raise SystemExit(main())
