"""A field of a run config that is named like a secret is refused, wherever it stands: a config is kept on disk."""

import pytest

from mosaic.errors import ConfigError
from mosaic.intake.cleanrl_settings import hyperparameters
from mosaic.spec import run_config
from mosaic.spec.processes.secret_keys import is_secret_name

SECRET = (
    *("api_key", "API_KEY", "apiKey", "apikey", "wandb_key", "openai_api_key", "OPENAI_API_KEY", "hf_token"),
    *("HF_TOKEN", "token", "accessToken", "authtoken", "password", "Password", "dbPassword", "db_passwd"),
    *("secret", "client_secret", "aws_secret_access_key", "private_key", "ssh-key", "credentials", "authorization"),
    *("bearer", "jwt", "api_tokens", "passphrase", "--api-key", "--token", "WANDB_API_KEY"),
)
PLAIN = (
    *("key", "keys", "max_tokens", "tokens", "num_tokens", "tokenizer", "token_count", "token_limit", "pad_token"),
    *("eos_token", "key_variable", "monkey", "password_file", "token_name", "secretary", "keyboard", "keymap"),
    *("gamma", "learning_rate", "wandb_entity", "wandb_project_name", "track_wandb", "seed_override", "client_id"),
    *("notes", "api", "pass", "path", "compass", "env_id"),
)


@pytest.mark.parametrize("name", SECRET)
def test_a_name_of_a_secret_is_known(name):
    assert is_secret_name(name)


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_name_is_none_of_a_secret(name):
    assert not is_secret_name(name)


def test_every_such_field_is_told_with_its_place_and_how_to_pass_it():
    data = {
        "metadata": {
            "ui": {"form": [{"hf_token": "abc"}]},
            "worker": {
                "config": {
                    "extras": {
                        "algo_params": {"db_password": 7, "script_flags": "--lr 1e-3 --api-key=abc --wandb-token abc"},
                        "actor_params": {"llm": {"headers": {"Authorization": "Bearer abc"}, "max_tokens": 5}},
                    }
                }
            },
        },
        "api_key": {"nested": "abc"},
    }
    with pytest.raises(ConfigError) as refused:
        run_config.refuse_secrets(data)
    extras = "metadata.worker.config.extras"
    assert {problem.path for problem in refused.value.problems} == {
        "api_key",
        "metadata.ui.form.0.hf_token",
        f"{extras}.algo_params.db_password",
        f"{extras}.algo_params.script_flags: --api-key",
        f"{extras}.algo_params.script_flags: --wandb-token",
        f"{extras}.actor_params.llm.headers.Authorization",
    }
    for name in ("WANDB_API_KEY", "MOSAIC_LLM_API_KEY", "MOSAIC_SCRIPT_KEYS"):
        assert name in str(refused.value)
    assert "abc" not in str(refused.value)


def test_a_field_that_holds_nothing_or_a_switch_is_no_secret():
    run_config.refuse_secrets({"hf_token": "", "api_key": None, "use_token": True, "token": {}, "a": {"b": [1, "x"]}})


def test_an_import_of_other_tools_leaves_secrets_behind():
    assert hyperparameters({"gamma": 0.9, "hf_token": "abc", "seed": 1}) == {"gamma": 0.9}


def test_the_keys_that_a_form_sends_are_taken_out_before():
    clean, secrets = run_config.take_secrets({"ui": {"wandb_api_key": "abc"}, "llm_api_key": "def"})
    run_config.refuse_secrets(clean)
    assert secrets == {"WANDB_API_KEY": "abc", "MOSAIC_LLM_API_KEY": "def"}
