"""`mosaic web`: the studio in a browser. A process of its own and a client of the daemon (docs/web.md)."""
