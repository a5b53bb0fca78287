import json

import numpy as np
import pytest

from ambulo.configs.errors import ConfigError, GaitParameterError
from ambulo.configs.gait import (
    GAIT_SPACES,
    MUSCLE_GROUPS,
    GaitParameter,
    GaitSpace,
    gait_space,
)
from ambulo.configs.healthy_gait import HEALTHY

SPACE = GAIT_SPACES["human23"]


def test_the_published_numbers_of_parameters():
    assert SPACE.size == 13
    assert SPACE.known.all()
    legs = GAIT_SPACES["myolegs"]
    assert legs.size == 13 + 4 * len(MUSCLE_GROUPS)
    assert legs.known.sum() == 13
    assert legs.names[:13] == SPACE.names


def test_normalizing_is_over_the_range():
    values = SPACE.vector(stride=1.0, cadence=1.25, femur_torsion_left=-0.55)
    normal = SPACE.normalize(values)
    assert normal[SPACE.index("stride")] == pytest.approx(0.5)
    assert normal[SPACE.index("cadence")] == pytest.approx(1.0)
    assert normal[SPACE.index("femur_torsion_left")] == pytest.approx(0.0)
    assert normal[SPACE.index("femur_torsion_right")] == pytest.approx(0.5)
    np.testing.assert_allclose(SPACE.denormalize(normal), values)


def test_out_of_range_names_parameter_value_and_range():
    values = SPACE.default.copy()
    values[SPACE.index("global")] = 0.8
    with pytest.raises(GaitParameterError, match=r"global = 0.8: .*\[0.85, 1\]"):
        SPACE.check(np.stack([SPACE.default, values]))
    values[SPACE.index("global")] = np.nan
    with pytest.raises(GaitParameterError, match="global = nan"):
        SPACE.check(values)
    with pytest.raises(GaitParameterError, match="did you mean 'stride'"):
        SPACE.vector(strid=1.0)
    with pytest.raises(GaitParameterError, match="13"):
        SPACE.check(np.zeros(12))


def test_samples_lie_near_the_grid_or_near_the_ends():
    normal = SPACE.normalize(SPACE.sample(np.random.default_rng(0), 4000))
    assert normal.min() >= 0.0
    assert normal.max() <= 1.0
    stride = normal[:, SPACE.index("stride")]
    nearest = np.round(stride * 4.0) / 4.0
    assert np.abs(stride - nearest).mean() < 0.025
    shares = [np.mean(nearest == at) for at in (0.0, 0.25, 0.5, 0.75, 1.0)]
    np.testing.assert_allclose(shares, 0.2, atol=0.03)
    limb = normal[:, SPACE.index("femur_length_left")]
    assert np.mean((limb > 0.15) & (limb < 0.85)) == 0.0
    assert np.mean(limb > 0.5) == pytest.approx(0.5, abs=0.03)
    # Half of the noise at an end is cut off there.
    assert np.mean(limb == 1.0) == pytest.approx(0.25, abs=0.03)


def test_mirroring_exchanges_the_sides_alone():
    values = SPACE.vector(
        stride=1.1, femur_length_left=0.9, femur_torsion_right=0.3, arm_length_left=0.95
    )
    mirrored = SPACE.named(SPACE.mirror(values))
    assert mirrored["stride"] == 1.1
    assert mirrored["femur_length_right"] == 0.9
    assert mirrored["femur_length_left"] == 1.0
    assert mirrored["femur_torsion_left"] == 0.3
    np.testing.assert_array_equal(SPACE.mirror(SPACE.mirror(values)), values)


def test_a_space_survives_json_and_equals_its_copy():
    copy = GaitSpace.from_json(SPACE.to_json())
    assert copy == SPACE
    assert copy == GaitSpace.from_json(json.loads(SPACE.to_json()))
    with pytest.raises(ConfigError, match="no gait space"):
        GaitSpace.from_json("{}")


def test_differences_are_told():
    assert SPACE.difference(SPACE) == ""
    fewer = GaitSpace("human23", SPACE.parameters[:-1])
    assert "lacks femur_torsion_right" in SPACE.difference(fewer)
    assert "also has femur_torsion_right" in fewer.difference(SPACE)
    wider = GaitParameter("stride", 0.5, 1.25, 1.0, "gait")
    other = GaitSpace("human23", (wider, *SPACE.parameters[1:]))
    assert "stride (0.5 to 1.25" in SPACE.difference(other)
    turned = GaitSpace("human23", SPACE.parameters[::-1])
    assert "order" in SPACE.difference(turned)


def test_bad_spaces_are_refused():
    with pytest.raises(ConfigError, match="low < high"):
        GaitParameter("a", 1.0, 1.0, 1.0, "gait")
    one = GaitParameter("a", 0.0, 1.0, 1.0, "gait")
    with pytest.raises(ConfigError, match="differ"):
        GaitSpace("x", (one, one))
    with pytest.raises(ConfigError, match="did you mean 'human23'"):
        gait_space("human")


def test_ratios_of_a_smaller_body():
    # A quarter of the leg: a quarter of the stride, twice the steps.
    leg = 0.25 * HEALTHY.leg_length
    assert float(HEALTHY.stride_of(1.0, leg)) == pytest.approx(
        0.25 * HEALTHY.stride_length
    )
    assert float(HEALTHY.rate_of(1.0, leg)) == pytest.approx(2.0 * HEALTHY.cycle_rate)
    stride, cadence = HEALTHY.ratios(
        0.25 * 1.1 * HEALTHY.stride_length, 2.0 * 0.9 * HEALTHY.cycle_rate, leg
    )
    assert float(stride) == pytest.approx(1.1)
    assert float(cadence) == pytest.approx(0.9)
