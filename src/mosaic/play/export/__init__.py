"""Recorded episodes made again outside of a session, as films and as datasets."""
