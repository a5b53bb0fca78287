"""Other friction and masses of a body's model."""

from __future__ import annotations

import numpy as np
import pytest

from ambulo.configs.base import parse
from ambulo.configs.errors import ConfigError
from ambulo.configs.variation import VariationConfig
from ambulo.envs.characters.character import Character, human23
from ambulo.envs.simulation.variants import ITERATIONS, NOMINAL, Variant, drawn_variants


def test_the_nominal_variant_is_the_model_itself(character: Character) -> None:
    assert NOMINAL.applied_to(character.model) is character.model


def test_a_scaled_mass_is_that_of_a_body_made_heavier(character: Character) -> None:
    before = character.model.body_mass.copy()
    heavy = Variant(mass=1.2).applied_to(character.model)
    made = human23(mass=90.0).model
    for field in ("body_mass", "body_inertia", "body_subtreemass"):
        np.testing.assert_allclose(getattr(heavy, field), getattr(made, field))
    # What the solver of the contacts takes from the masses follows them.
    np.testing.assert_allclose(heavy.dof_invweight0, made.dof_invweight0, rtol=1e-9)
    np.testing.assert_array_equal(character.model.body_mass, before)


def test_each_segment_has_its_own_factor(character: Character) -> None:
    model = character.model
    factors = np.linspace(0.8, 1.2, model.nbody - 1)
    varied = Variant(mass=1.1, segments=tuple(factors)).applied_to(model)
    expected = 1.1 * float(model.body_mass[1:] @ factors)
    assert varied.body_mass.sum() == pytest.approx(expected)
    ratio = varied.body_inertia[1:] / model.body_inertia[1:]
    np.testing.assert_allclose(ratio, np.tile(1.1 * factors[:, None], 3))


def test_friction_is_that_of_every_contact(character: Character) -> None:
    varied = Variant(friction=0.4).applied_to(character.model)
    assert (varied.geom_friction[:, 0] == 0.4).all()
    assert (character.model.geom_friction[:, 0] == 1.0).all()
    np.testing.assert_array_equal(
        varied.geom_friction[:, 1:], character.model.geom_friction[:, 1:]
    )
    np.testing.assert_array_equal(varied.body_mass, character.model.body_mass)
    assert (varied.opt.iterations, character.model.opt.iterations) == (ITERATIONS, 4)


def test_drawn_variants_are_spread_over_their_ranges() -> None:
    config = VariationConfig(
        friction=(0.4, 1.2), segment_mass=(0.8, 1.2), delay=(0.0, 0.04)
    )
    drawn = drawn_variants(config, 4, 22, seed=3)
    for values, low, high in (
        ([one.friction for one in drawn], 0.4, 1.2),
        ([one.delay for one in drawn], 0.0, 0.04),
        *(([one.segments[k] for one in drawn], 0.8, 1.2) for k in range(22)),
    ):
        quarter = np.floor(4.0 * (np.array(values) - low) / (high - low))
        assert sorted(quarter.tolist()) == [0.0, 1.0, 2.0, 3.0]
    assert {one.mass for one in drawn} == {1.0}
    assert drawn == drawn_variants(config, 4, 22, seed=3)
    assert drawn != drawn_variants(config, 4, 22, seed=4)


def test_settings_without_ranges_draw_the_nominal_body() -> None:
    assert drawn_variants(VariationConfig(), 2, 22, seed=0) == [NOMINAL, NOMINAL]
    assert not VariationConfig(variants=3).varies
    assert VariationConfig(delay=(0.0, 0.01)).varies


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"friction": [0.0, 1.0]}, r"friction\[0\] = 0.0: .* greater than 0"),
        ({"mass": [1.2, 0.8]}, r"mass must be \[min, max\]"),
        ({"delay": [-0.01, 0.0]}, r"delay\[0\] = -0.01: .* greater than or equal to 0"),
        ({"delay": [0.0, 1.0]}, r"delay\[1\] = 1.0: .* less than or equal to 0.5"),
        ({"variants": 0}, "variants = 0"),
        ({"frictions": [0.4, 1.0]}, "did you mean 'friction'"),
    ],
)
def test_bad_ranges_are_one_line(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as error:
        parse(VariationConfig, settings, "variation")
    assert "\n" not in str(error.value)
