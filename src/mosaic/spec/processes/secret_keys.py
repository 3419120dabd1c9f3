"""Keys in the environment: who needs which variable, and names that tell that a value is a secret."""

import os
import re
from collections.abc import Iterable, Mapping

from mosaic.spec.processes.language_model import KEY

HUB = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN", "HUGGINGFACE_TOKEN")
_WANDB_PROXIES = ("WANDB_VPN_HTTP_PROXY", "WANDB_VPN_HTTPS_PROXY", "WANDB_HTTP_PROXY", "WANDB_HTTPS_PROXY")
KEYS: Mapping[str, tuple[str, ...]] = {
    "wandb": ("WANDB_API_KEY", "WANDB_IDENTITY_TOKEN_FILE", *_WANDB_PROXIES),
    "mlflow": ("MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_PASSWORD", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_URI"),
    "trackio": HUB,
    "hub": HUB,
    "llm": (KEY,),
}
"""Who needs a key, and the variables that may carry it."""
ALL = tuple(KEYS)
HIDDEN = "[hidden]"
SHORTEST = 8
"""A shorter value is not a key, and may stand in any text."""
SCRIPT_KEYS = "MOSAIC_SCRIPT_KEYS"
"""Variable that names further variables, separated by commas, whose keys scripts get."""
_ADDRESSES = frozenset({"MLFLOW_TRACKING_URI", *_WANDB_PROXIES})
"""They are secret only where they hold a password."""
_SECRETS = ("password", "passwd", "passphrase", "secret", "secrets", "token", "apikey", "jwt", "bearer")
_CREDENTIALS = frozenset({"credential", "credentials", "authorization"})
_KEY_OF = frozenset({"api", "access", "private", "auth", "account", "ssh", "encryption", "signing", "wandb"})
"""What stands before `key` or `tokens` in the name of a secret."""
_TOKEN_OF_TEXT = frozenset({"pad", "eos", "bos", "unk", "mask", "sep", "cls", "start", "stop", "end", "special"})
"""A field `pad_token` holds a piece of text of a language model."""
_ABOUT = frozenset({"file", "path", "name", "id", "count", "limit", "length", "size", "dim", "type", "variable"})
"""A field `token_count` holds a number of tokens, `password_file` where one is."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def without(variables: Mapping[str, str], needed: Iterable[str] = ()) -> dict[str, str]:
    """These variables, without the keys that the named programs do not need."""
    secret = _names(KEYS) - _names(needed)
    return {name: value for name, value in variables.items() if name not in secret or _is_plain(name, value)}


def only(variables: Mapping[str, str], needed: Iterable[str]) -> dict[str, str]:
    """Of these variables the keys that are needed."""
    kept = _names(needed)
    return {name: value for name, value in variables.items() if name in kept}


def chosen_for_scripts(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables that the user hands to scripts by their names."""
    names = [name.strip() for name in variables.get(SCRIPT_KEYS, "").split(",")]
    return {name: variables[name] for name in names if name in variables}


def hidden(text: str) -> str:
    """Without the keys of this process, for what is written down: an error may quote one."""
    for name, value in only(os.environ, KEYS).items():
        if len(value) >= SHORTEST and not _is_plain(name, value):
            text = text.replace(value, HIDDEN)
    return text


def is_secret_name(name: str) -> bool:
    """`hf_token`, `OPENAI_API_KEY`, `dbPassword`; not `max_tokens`, `key`, `pad_token` or `token_count`."""
    words = [word.lower() for word in _WORD.findall(name)]
    if not words or words[-1] in _ABOUT:
        return False
    for before, word in zip(["", *words], words, strict=False):
        if word == "token" and before in _TOKEN_OF_TEXT:
            continue
        if word.endswith(_SECRETS) or word in _CREDENTIALS or (word in ("key", "keys", "tokens") and before in _KEY_OF):
            return True
    return False


def _names(of: Iterable[str]) -> set[str]:
    return {name for who in of for name in KEYS[who]}


def _is_plain(name: str, value: str) -> bool:
    return name in _ADDRESSES and "@" not in value
