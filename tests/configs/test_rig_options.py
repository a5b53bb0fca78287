"""Settings of the VR rig that make no sense are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from ambulo.configs.errors import ConfigError
from ambulo.configs.vr import NavigationConfig

CONFIG = NavigationConfig()


@pytest.mark.parametrize(
    ("group", "values", "words"),
    [
        ("actions", {"snap_turn": 0.0}, "snap_turn = 0"),
        ("actions", {"snap_turn": 181.0}, "snap_turn = 181"),
        ("actions", {"teleport": 25.0}, "teleport = 25"),
        ("actions", {"teleport_delay": 0.0}, "teleport_delay = 0"),
        ("actions", {"snap_delay": -1.0}, "snap_delay = -1"),
        ("actions", {"vignette": 1.1}, "vignette = 1.1"),
        ("environment", {"eye_height": 0.5}, "eye_height = 0.5"),
        ("environment", {"eye_height": 2.3}, "eye_height = 2.3"),
        ("actions", {"mode": "discrete", "snap_turn": 30.0}, "snap_turn: needs mode"),
        ("actions", {"mode": "discrete", "teleport": 3.0}, "teleport: needs mode"),
    ],
)
def test_bad_values(group: str, values: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        CONFIG.override(group, **values)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("body", ["twin", "human23"])
def test_bodies_with_legs_have_none_of_them(body: str) -> None:
    legs = CONFIG.override("environment", body=body)
    for name in ("snap_turn", "teleport"):
        with pytest.raises(ConfigError, match=rf"actions\.{name}: .*{body} has legs"):
            legs.override("actions", **{name: 3.0})
    with pytest.raises(ConfigError, match=r"eye_height = 1\.2: .* height of its"):
        legs.override("environment", eye_height=1.2)
    assert legs.override("actions", vignette=0.5).actions.vignette == 0.5
    stage = {"name": "b", "max_goal_distance": 9.0, "timesteps": 10, "body": body}
    staged = CONFIG.override(
        "training", use_curriculum=True, curriculum_stages=(stage,)
    )
    with pytest.raises(ConfigError, match=r"actions\.teleport"):
        staged.override("actions", teleport=3.0)


def test_avatars_have_the_usual_eyes() -> None:
    with pytest.raises(ConfigError, match=r"eye_height = 1\.75: .*avatar"):
        CONFIG.override("rewards", posture_bonus=1.0).override(
            "environment", eye_height=1.75
        )
