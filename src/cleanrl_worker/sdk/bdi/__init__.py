"""BDI agents: AgentSpeak plans, the agents made of them, and how these talk; for training and for Play alike."""
