"""Ctrl-C works in what the tests start, also where the suite itself was started in the background and ignores it."""

import signal

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
