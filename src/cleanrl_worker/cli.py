"""`python -m cleanrl_worker.cli`: train from flags or from a config file."""

from cleanrl_worker.sdk import main

if __name__ == "__main__":
    raise SystemExit(main())
