"""Presets: settings of an algorithm in an environment under a name, those that ship and those of the user."""
