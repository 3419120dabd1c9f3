"""`python -m mosaic.cli`: the `mosaic` command where it is not on the path."""

from mosaic.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
