"""An environment that shows a policy what it was trained on: same settings, same rule for observations and masks."""

from cleanrl_worker.sdk.command import algorithm_catalogue
from cleanrl_worker.sdk.policy import PolicyFile
from mosaic import envs
from mosaic.envs.observations.parted_rows import how_seen


def make_fitting(file: PolicyFile, num_envs: int) -> envs.VecEnv:
    seen, masked = how_seen(file.observation_space)
    if algorithm_catalogue.observations(file.algo) == "pixels":
        seen = "pixels"
    return envs.make_vec(
        file.env_id,
        num_envs,
        observations=seen,
        masks="always" if masked else "never",
        settings=file.env_settings,
    )
