"""Needs a package that does not exist, and finds out when it runs."""

import gymnasium as gym

if __name__ == "__main__":
    gym.make("CartPole-v1")
    import no_such_package_at_all
