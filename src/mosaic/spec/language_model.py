"""The environment variables of the actor `llm`, as the command line hands them on to a worker."""

BASE_URL = "MOSAIC_LLM_BASE_URL"
"""Where the endpoint is, with its path: http://127.0.0.1:11434/v1."""
MODEL = "MOSAIC_LLM_MODEL"
"""Which model to ask for."""
KEY = "MOSAIC_LLM_API_KEY"
"""The key, where the endpoint wants one. It is never written anywhere."""
