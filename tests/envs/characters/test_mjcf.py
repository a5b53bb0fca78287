"""Characters as MJCF: the file is the body, for MuJoCo without this package."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

from ambulo.configs.errors import CharacterError, ConfigError
from ambulo.envs.characters.mjcf import difference, export_mjcf
from ambulo.envs.characters.registry import CHARACTERS, SPECS, load_character
from ambulo.muscle.coupling import joint_coupling
from ambulo.muscle.spd import joint_gains


@pytest.mark.parametrize("name", sorted(CHARACTERS))
def test_the_file_is_the_body(tmp_path: Path, name: str) -> None:
    character = load_character(name)
    xml, readme = export_mjcf(name, tmp_path / "body")
    moved = (tmp_path / "body").rename(tmp_path / "elsewhere")
    assert str(tmp_path) not in xml.name
    found = mujoco.MjModel.from_xml_path(str(moved / xml.name))
    assert difference(found, character.model) == ""
    assert found.body_mass.sum() == pytest.approx(character.model.body_mass.sum(), 1e-5)
    ends = [_rollout(model) for model in (found, character.model)]
    assert np.abs(ends[0] - ends[1]).max() < 1e-3
    assert np.abs(ends[1] - character.model.qpos0).max() > 0.02
    text = (moved / readme.name).read_text(encoding="utf-8")
    coupling = joint_coupling(character.model)
    stiffness, damping = joint_gains(character.model, character.gains, coupling)
    joints = character.model.dof_jntid[coupling.independent]
    for joint, kp, kd in list(zip(joints, stiffness, damping, strict=True))[6:]:
        name = character.model.joint(int(joint)).name
        assert f"| {name} | {kp:g} | {kd:g} |" in text
    assert "Stable PD" in text
    for file in moved.iterdir():
        if file.is_file():
            assert "site-packages" not in file.read_text(encoding="utf-8")


def _rollout(model: mujoco.MjModel) -> np.ndarray:
    """Positions after 0.15 s of a fixed control, from a little above the ground."""
    data = mujoco.MjData(model)
    data.qpos[2] += 0.02
    limits = model.actuator_forcerange[:, 1] * model.actuator_forcelimited
    full = np.where(limits > 0.0, 0.1 * limits, 0.2)
    for step in range(round(0.15 / model.opt.timestep)):
        data.ctrl[:] = full * np.sin(0.3 * step + np.arange(model.nu)) ** 2
        mujoco.mj_step(model, data)
    return data.qpos.copy()


def test_a_folder_with_something_in_it_stays(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(CharacterError, match="exists already"):
        export_mjcf("human23", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]
    (tmp_path / "empty").mkdir()
    assert export_mjcf("human23", tmp_path / "empty")[0].is_file()


def test_a_file_that_is_another_body_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = SPECS["human23"]

    def heavier() -> mujoco.MjSpec:
        spec = plain()
        spec.body("Head").mass *= 1.01
        return spec

    monkeypatch.setitem(SPECS, "human23", heavier)
    with pytest.raises(CharacterError, match="body_mass differs"):
        export_mjcf("human23", tmp_path / "body")
    assert list(tmp_path.iterdir()) == []


def test_unknown_characters_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="unknown character 'human24'"):
        export_mjcf("human24", tmp_path / "body")
    assert list(tmp_path.iterdir()) == []
