"""`python -m mosaic.agent`: see `mosaic.agent.agent_verbs`."""

from mosaic.agent.agent_verbs import main

raise SystemExit(main())
