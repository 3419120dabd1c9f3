"""Gymnasium's classic control: CartPole, Acrobot, MountainCar, Pendulum."""

import math
from typing import TYPE_CHECKING, Any

from mosaic.envs.family import Family, Step
from mosaic.envs.vector.twin import Twin

if TYPE_CHECKING:
    import numpy as np
    from gymnasium import Env
    from numpy.typing import NDArray


def _quick_step(env: "Env[Any, Any]") -> Step | None:
    from gymnasium.envs.classic_control.acrobot import AcrobotEnv
    from gymnasium.envs.classic_control.cartpole import CartPoleEnv

    from mosaic.envs.quick_acrobot import quick_acrobot

    if type(env) is AcrobotEnv:
        return quick_acrobot(env)
    return quick_cartpole(env) if type(env) is CartPoleEnv else None


def quick_cartpole(cart: Any) -> Step:
    """`CartPoleEnv.step` without its checks, on Python floats instead of numpy scalars: the same bits, twice as fast.

    Sine and cosine stay numpy's, because libm's may differ from them in the last bit on some processors.
    """
    import numpy as np

    cos, sin = np.cos, np.sin
    state: tuple[float, ...] = ()

    def step(action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        nonlocal state
        if cart.state is not state:  # reset, or a caller set it
            state = tuple(np.asarray(cart.state, dtype=np.float64).tolist())
        x, x_dot, theta, theta_dot = state
        force = cart.force_mag if action == 1 else -cart.force_mag
        costheta = float(cos(theta))
        sintheta = float(sin(theta))
        total_mass = cart.total_mass
        temp = (force + cart.polemass_length * (theta_dot * theta_dot) * sintheta) / total_mass
        thetaacc = (cart.gravity * sintheta - costheta * temp) / (
            cart.length * (4.0 / 3.0 - cart.masspole * (costheta * costheta) / total_mass)
        )
        xacc = temp - cart.polemass_length * thetaacc * costheta / total_mass
        tau = cart.tau
        if cart.kinematics_integrator == "euler":
            x = x + tau * x_dot
            x_dot = x_dot + tau * xacc
            theta = theta + tau * theta_dot
            theta_dot = theta_dot + tau * thetaacc
        else:
            x_dot = x_dot + tau * xacc
            x = x + tau * x_dot
            theta_dot = theta_dot + tau * thetaacc
            theta = theta + tau * theta_dot
        cart.state = state = (x, x_dot, theta, theta_dot)
        x_limit, theta_limit = cart.x_threshold, cart.theta_threshold_radians
        terminated = x < -x_limit or x > x_limit or theta < -theta_limit or theta > theta_limit
        if cart._sutton_barto_reward:
            return state, -1.0 if terminated else 0.0, terminated, False, {}
        return state, 1.0, terminated, False, {}

    return step


def _is_own(env: "Env[Any, Any]") -> bool:
    return type(env).__module__.startswith("gymnasium.envs.classic_control.")


def _freeze(env: Any) -> "NDArray[np.float64]":
    import numpy as np

    # Pendulum's arrow shows the last torque.
    torque = getattr(env, "last_u", None)
    return np.array([*env.state, math.nan if torque is None else torque], np.float64)


def _thaw(env: Any, state: "NDArray[np.float64]") -> None:
    env.state = state[:-1]
    if hasattr(env, "last_u"):
        env.last_u = None if math.isnan(state[-1]) else float(state[-1])


def _tile(env: Any, width: int, height: int) -> "NDArray[np.uint8] | None":
    """Drawn and made smaller by pygame alone: `render` copies the whole picture."""
    import numpy as np
    import pygame

    # Drawing is the same in every mode; what follows belongs to the modes that Gymnasium knows.
    mode, env.render_mode = env.render_mode, "drawn"
    try:
        env.render()
    finally:
        env.render_mode = mode
    if env.screen is None or env.screen.get_masks() != BGRX:
        return None
    small = pygame.transform.smoothscale(env.screen, (width, height))
    return np.frombuffer(small.get_buffer().raw.translate(LEVELS), np.uint8).reshape(height, width, 4)


BGRX = (0xFF0000, 0xFF00, 0xFF, 0)
"""Masks of red, green, blue and alpha in four bytes."""
LEVELS = bytes(min(255, round(level * 255 / 253)) for level in range(256))
"""Of pygame's smaller picture, in which white is 253."""
FAMILY = Family(
    name="classic_control",
    title="Classic control",
    observation_rule="the float32 vector as it is",
    distribution="gymnasium",
    entry_points=("gymnasium.envs.classic_control",),
    graphics=({"SDL_VIDEODRIVER": "dummy"},),
    quick_step=_quick_step,
    twin=Twin(fits=_is_own, freeze=_freeze, thaw=_thaw, tile=_tile),
)
