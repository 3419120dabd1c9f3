"""Files of a run: opened safely, written whole, compared with their digests."""
