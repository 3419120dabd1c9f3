"""Opening policies of any known kind: ours, upstream's and Stable-Baselines3's."""
