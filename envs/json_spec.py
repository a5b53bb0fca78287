"""The specification of an environment as JSON, so that other programs can make it again."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

from gymnasium.envs.registration import EnvSpec

from ambulo.configs.base import Config
from ambulo.configs.errors import ConfigError
from ambulo.envs.reference.reference import Reference, reference_bytes
from ambulo.muscle.muscle_nn import MuscleNN, muscle_nn_bytes

_OF_VECTORS = (
    "num_envs", "vectorization_mode", "vector_kwargs", "autoreset_mode", "threads",
)  # fmt: skip
"""Settings that only environments of several characters have."""


def json_spec(spec: EnvSpec | None) -> EnvSpec | None:
    """Return the specification of one environment whose settings are JSON.

    References and muscle networks become the text of their files (`file_content`). None if a
    setting has no JSON form.
    """
    if spec is None:
        return None
    kwargs = {
        name: _plain(value)
        for name, value in spec.kwargs.items()
        if name not in _OF_VECTORS
    }
    try:
        json.dumps(kwargs)
    except TypeError:
        return None
    return replace(spec, kwargs=kwargs, vector_entry_point=None, max_episode_steps=None)


def file_content(name: str, text: str) -> bytes:
    """Return the content of a file that the setting `name` holds as base64 text.

    Raises:
        ConfigError: The text is not base64.
    """
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise ConfigError(
            f"{name} = {text!r:.40}: must be the content of a file, as bytes or base64 text"
        ) from None


def _plain(value: Any) -> Any:
    """Return the JSON form of a setting if it needs conversion."""
    if isinstance(value, Config):
        return value.model_dump(mode="json")
    if isinstance(value, Reference):
        value = reference_bytes(value)
    elif isinstance(value, MuscleNN):
        value = muscle_nn_bytes(value)
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
