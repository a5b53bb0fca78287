"""References: files, checks and balance controllers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fixtures.equal import assert_same_bits

from ambulo.configs.errors import ConfigError, MotionFileError
from ambulo.configs.locomotion import LocomotionConfig
from ambulo.configs.locomotion_env import LocomotionEnvironmentConfig
from ambulo.envs.characters.character import Character
from ambulo.envs.characters.registry import load_character
from ambulo.envs.locomotion.build import make_batch
from ambulo.envs.reference.balance import BalanceController
from ambulo.envs.reference.clips.read_clips import read_clips
from ambulo.envs.reference.configured import (
    check_reference,
    reference_of,
    shipped_reference,
)
from ambulo.envs.reference.gaits import Gaits
from ambulo.envs.reference.reference import (
    Reference,
    ReferenceMotion,
    is_reference,
    load_reference,
    reference_bytes,
    reference_from_bytes,
    save_reference,
)
from ambulo.envs.reference.reference_table import ReferenceTable
from ambulo.motion.formats.npz import packed
from ambulo.policies.agents.locomotion import load_locomotion_agent


def test_files_of_another_format_are_refused() -> None:
    arrays = {"header": np.frombuffer(b'{"format": "other"}', np.uint8)}
    with pytest.raises(MotionFileError, match="format"):
        reference_from_bytes(packed(arrays), "x.npz")


@pytest.mark.parametrize("balanced", [True, False])
def test_files_hold_all_gaits_and_controllers_bit_for_bit(
    family: Reference, standing: Reference, balanced: bool
) -> None:
    controller = standing.controller if balanced else None
    assert (controller is not None) == balanced
    gaits = tuple(replace(gait, controller=controller) for gait in family.gaits)
    made = replace(family, gaits=gaits)
    assert_same_bits(made, reference_from_bytes(reference_bytes(made), "x.npz"))
    lost = replace(gaits[1].table, qpos=np.nan * gaits[1].table.qpos)
    broken = replace(made, gaits=(gaits[0], replace(gaits[1], table=lost)))
    with pytest.raises(MotionFileError, match="qpos_1 is not finite"):
        reference_from_bytes(reference_bytes(broken), "x.npz")


def test_gaits_that_do_not_go_together_are_refused(family: Reference) -> None:
    first, second, _ = family.gaits
    table = second.table
    short = ReferenceTable(
        table.period, table.stride, table.qpos[::2], table.qvel[::2], table.torque[::2]
    )
    controller = BalanceController(
        np.zeros((3, 1, 2 * table.qvel.shape[1])), np.array([6])
    )
    for other, words in (
        (ReferenceMotion(short, None, {}), "different numbers of phases"),
        (ReferenceMotion(table, controller, {}), "move different joints"),
    ):
        mixed = Reference("mixed", family.character, family.control_dt, (first, other))
        with pytest.raises(MotionFileError, match=words):
            reference_from_bytes(reference_bytes(mixed), "x.npz")


def test_a_reference_for_something_else(
    plain: Reference, standing: Reference, character: Character
) -> None:
    with pytest.raises(ConfigError, match="no balance controller"):
        check_reference(plain, character, LocomotionEnvironmentConfig())
    other = Reference("walk", "robot", plain.control_dt, plain.gaits)
    with pytest.raises(ConfigError, match="made for robot"):
        check_reference(
            other, character, LocomotionEnvironmentConfig(balance_law=False)
        )
    with pytest.raises(ConfigError, match="30 Hz"):
        check_reference(
            standing, character, LocomotionEnvironmentConfig(control_rate=60)
        )


def test_columns_of_other_joints_are_refused(
    standing: Reference,
    character: Character,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    config, path = LocomotionEnvironmentConfig(task="imitate"), tmp_path / "walk.npz"
    assert standing.joints == character.joint_names
    names = list(character.joint_names)
    left, right = names.index("FemurL"), names.index("FemurR")
    names[left], names[right] = names[right], names[left]
    for joints, words in (
        (tuple(names), f"its joint {min(left, right)} is Femur"),
        (character.joint_names[:-1], "is none, that of human23 is"),
    ):
        save_reference(path, replace(standing, joints=joints))
        with pytest.raises(ConfigError, match=words):
            reference_of(config.replace(reference=str(path)), character)
        with pytest.raises(ConfigError, match=words):
            read_clips([path], character, standing.control_dt)
    save_reference(path, replace(standing, joints=()))  # as before files had names
    assert is_reference(path)
    assert not load_reference(path).joints
    assert reference_of(config.replace(reference=str(path)), character).gaits
    assert "walk.npz: names no joints; its columns are taken in the" in caplog.text
    broken = replace(standing, joints=(1, 2))  # type: ignore[arg-type]
    with pytest.raises(MotionFileError, match="joints are no list of names"):
        reference_from_bytes(reference_bytes(broken), "x.npz")


def test_stacked_gaits_are_the_tables(plain: Reference, character: Character) -> None:
    gaits, table = Gaits(plain, character), plain.table
    phase = np.array([0.0, 0.31, 0.9999])
    qpos, qvel, torque = gaits.at(phase, gaits.natural(3))
    wanted = table.at(phase * table.period)
    shift = wanted[0][:, 0] - phase * table.stride[0]
    np.testing.assert_allclose(qpos[:, 0] - shift, qpos[0, 0] - shift[0], atol=1e-4)
    np.testing.assert_allclose(qpos[:, 1:3], wanted[0][:, 1:3], atol=1e-9)
    np.testing.assert_allclose(qvel, wanted[1], atol=1e-9)
    np.testing.assert_allclose(torque, wanted[2], atol=1e-9)


def test_the_law_is_its_gains_times_the_deviation(
    standing: Reference, character: Character
) -> None:
    gaits, controller = Gaits(standing, character), standing.controller
    assert controller is not None
    rng = np.random.default_rng(0)
    deviation, rate = rng.normal(0, 0.1, (2, 4, 56))
    found = gaits.controller_offsets(np.zeros(4), gaits.natural(4), deviation, rate)
    wanted = controller.offsets(np.zeros(4), deviation, rate)[:, controller.dofs]
    np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.slow
def test_the_law_keeps_the_plain_walk_on_its_feet() -> None:
    config = LocomotionConfig()
    lives = []
    for controller in (False, True):
        batch = make_batch(
            config.override("environment", balance_law=controller), 16, seed=0
        )
        batch.reset(np.arange(16))
        alive = np.ones(16, bool)
        steps = np.zeros(16)
        for _ in range(120):
            _, _, terminated, _, _ = batch.step(np.zeros((16, batch.action_size)))
            alive &= ~terminated
            steps += alive
        lives.append(steps.mean() / 30.0)
    assert lives[0] < 2.0
    assert lives[1] > 3.0


def test_commands_are_walked_by_the_gaits_of_the_shipped_model() -> None:
    """Not with other joints, speeds, rates or bodies: those gaits would not fit."""
    config = LocomotionEnvironmentConfig(task="locomote")
    file = shipped_reference(config)
    assert file is not None
    stored = reference_from_bytes(load_locomotion_agent(file).references[0], file)
    found = reference_of(config, load_character("human23"))
    np.testing.assert_array_equal(found.table.qpos, stored.table.qpos)
    for change in ({"speed": (0.2, 0.5)}, {"substeps": 6}, {"reference": "walk.bvh"}):
        assert shipped_reference(config.replace(**change)) is None
