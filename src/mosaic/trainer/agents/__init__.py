"""The daemon's side of agents, which run starts of runs on other machines: leases, links, files that arrive."""
