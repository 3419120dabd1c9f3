"""One file per algorithm, read top to bottom: Args, Agent, pure maths, train, load, main."""
