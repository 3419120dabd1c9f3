"""PettingZoo's two interfaces behind one: whose turn it is, an action, and what each seat got by it."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class Game(Protocol):
    """One of PettingZoo's two interfaces, as the table uses it."""

    turn: str
    """Empty when it is over."""

    @property
    def to_act(self) -> Sequence[str]:
        """Whose turn it is, and those whose choices are made into one step with that; none when it is over."""
        ...

    def reset(self, seed: int) -> None: ...
    def act(self, action: Any) -> Mapping[str, float]:
        """The action of the one whose turn it is; what each seat got by it."""
        ...

    @property
    def ended(self) -> Mapping[str, tuple[bool, bool]]:
        """Terminated and truncated, of each seat that has been in the game."""
        ...

    def observe(self, seat: str) -> Any: ...
    def info(self, seat: str) -> Mapping[str, Any]: ...


class Turns:
    """AEC: one after the other. A seat that is out is passed over with the empty step that PettingZoo asks for."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self.turn = ""
        self.ended: dict[str, tuple[bool, bool]] = {}
        self._last: dict[str, tuple[Any, Mapping[str, Any]]] = {}

    @property
    def to_act(self) -> Sequence[str]:
        return (self.turn,) if self.turn else ()

    def reset(self, seed: int) -> None:
        self._env.reset(seed=seed)
        self.ended, self._last = {}, {}
        self._pass()

    def act(self, action: Any) -> Mapping[str, float]:
        self._env.step(action)
        got = dict(self._env.rewards)
        self._pass()
        return got

    def observe(self, seat: str) -> Any:
        return self._last[seat][0] if seat in self._last else self._env.observe(seat)

    def info(self, seat: str) -> Mapping[str, Any]:
        return self._last[seat][1] if seat in self._last else self._env.infos.get(seat, {})

    def _pass(self) -> None:
        env = self._env
        while env.agents:
            for seat in env.agents:
                self.ended[seat] = bool(env.terminations[seat]), bool(env.truncations[seat])
            seat = env.agent_selection
            if not any(self.ended[seat]):
                break
            # Kept: an environment need not show anything to one who is out.
            self._last[seat] = env.observe(seat), env.infos.get(seat, {})
            env.step(None)
        self.turn = env.agent_selection if env.agents else ""


class Together:
    """Parallel: all are asked in the order of the seats, then one step is made of all their choices."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self.turn = ""
        self.ended: dict[str, tuple[bool, bool]] = {}
        self._seen: dict[str, tuple[Any, Mapping[str, Any]]] = {}
        self._chosen: dict[str, Any] = {}

    @property
    def to_act(self) -> Sequence[str]:
        return [seat for seat in self._env.agents if seat not in self._chosen]

    def reset(self, seed: int) -> None:
        self.ended, self._chosen = {}, {}
        observations, infos = self._env.reset(seed=seed)
        self._see(observations, infos)

    def act(self, action: Any) -> Mapping[str, float]:
        self._chosen[self.turn] = action
        if waiting := self.to_act:
            self.turn = waiting[0]
            return {}
        observations, rewards, terminations, truncations, infos = self._env.step(self._chosen)
        self._chosen = {}
        for seat in terminations:
            self.ended[seat] = bool(terminations[seat]), bool(truncations[seat])
        self._see(observations, infos)
        return rewards

    def observe(self, seat: str) -> Any:
        return self._seen[seat][0]

    def info(self, seat: str) -> Mapping[str, Any]:
        return self._seen[seat][1]

    def _see(self, observations: Mapping[str, Any], infos: Mapping[str, Any]) -> None:
        for seat, observation in observations.items():
            self._seen[seat] = observation, infos.get(seat, {})
        self.turn = next(iter(self._env.agents), "")
