"""`python -m mosaic.web`: the server of the page in the foreground; Ctrl-C ends it."""

from mosaic.web.web_program import main

if __name__ == "__main__":
    raise SystemExit(main())
