"""Recorded episodes are those that were played, and the real Minari reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from numpy.typing import NDArray

import ambulo
from ambulo.commands.minari_data import EpisodeArrays, MinariWriter, rollouts
from ambulo.configs.errors import ConfigError, RunFolderError

pytest.importorskip("h5py")
minari = pytest.importorskip("minari")
SEED, STEPS = 7, 6


class Swaying:
    """An agent whose actions depend on what it sees."""

    def act(self, obs: NDArray[Any], *, deterministic: bool = True) -> NDArray[Any]:
        del deterministic
        wave = np.sin(40.0 * obs[:, :1] + np.arange(self.size))
        return wave.astype(np.float32)

    size = 0


def recorded(episodes: int, num_envs: int) -> tuple[list[EpisodeArrays], Any]:
    env = ambulo.make_vec("Stand-v0", num_envs, max_episode_steps=STEPS)
    agent = Swaying()
    agent.size = env.single_action_space.shape[0]
    spaces_of = env.single_observation_space, env.single_action_space
    found = list(rollouts(agent, env, episodes, seed=SEED))
    env.close()
    return found, spaces_of


def test_episodes_are_those_of_single_environments() -> None:
    found, _ = recorded(5, 2)
    assert len(found) == 5
    assert sorted(e.seed for e in found if e.seed is not None) == [SEED, SEED + 1]
    env = ambulo.make("Stand-v0", max_episode_steps=STEPS)
    for episode in found:
        assert len(episode.rewards) == len(episode.actions) == STEPS
        assert episode.truncations.tolist() == [False] * (STEPS - 1) + [True]
        if episode.seed is None:
            continue
        obs, _ = env.reset(seed=episode.seed)
        np.testing.assert_array_equal(episode.observations[0], obs)
        for t, action in enumerate(episode.actions):
            obs, reward, terminated, truncated, _ = env.step(action)
            np.testing.assert_array_equal(episode.observations[t + 1], obs)
            assert episode.rewards[t] == reward
            assert episode.terminations[t] == terminated
            assert episode.truncations[t] == truncated
            parts = [v[t] for k, v in episode.infos.items() if k.startswith("reward/")]
            assert sum(parts) == pytest.approx(episode.rewards[t])
    env.close()
    again, _ = recorded(5, 2)
    for a, b in zip(found, again, strict=True):
        np.testing.assert_array_equal(a.observations, b.observations)


def test_minari_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, (seen, done) = recorded(4, 2)
    about = {"algorithm_name": "swaying", "description": "for a test"}
    with MinariWriter(tmp_path, "walks/stand-v0", seen, done, about=about) as writer:
        for episode in found:
            writer.add(episode)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    data = minari.load_dataset("walks/stand-v0")
    assert (data.total_episodes, data.total_steps) == (4, 4 * STEPS)
    assert data.spec.observation_space == seen
    assert data.spec.action_space == done
    assert data.storage.metadata["algorithm_name"] == "swaying"
    for mine, theirs in zip(found, data.iterate_episodes(), strict=True):
        for name in (
            "observations",
            "actions",
            "rewards",
            "terminations",
            "truncations",
        ):
            expected, got = getattr(mine, name), getattr(theirs, name)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(got, expected)
        for name, values in mine.infos.items():
            got = theirs.infos
            for part in name.split("/"):
                got = got[part]
            np.testing.assert_array_equal(got, values)
    [row] = data.storage.get_episode_metadata([0])
    assert row["seed"] == found[0].seed
    assert len(data.filter_episodes(lambda e: e.rewards.sum() > -1e9)) == 4
    assert "walks/stand-v0" in minari.list_local_datasets()


def arrays(steps: int = 2) -> EpisodeArrays:
    zeros = np.zeros((steps, 1), np.float32)
    flags = np.zeros(steps, np.bool_)
    observations = np.zeros((steps + 1, 1), np.float32)
    return EpisodeArrays(observations, zeros, np.zeros(steps), flags, flags, {})


BOX = spaces.Box(-1.0, 1.0, (1,))


def test_discrete_actions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with MinariWriter(tmp_path, "a-v0", BOX, spaces.Discrete(4)) as writer:
        writer.add(arrays())
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    assert minari.load_dataset("a-v0").spec.action_space == spaces.Discrete(4)


def test_nothing_half_written_stays(tmp_path: Path) -> None:
    def stopped() -> None:
        with MinariWriter(tmp_path, "a/b-v0", BOX, BOX) as writer:
            writer.add(arrays())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert list(tmp_path.iterdir()) == []


def test_what_exists_stays(tmp_path: Path) -> None:
    with MinariWriter(tmp_path, "b-v0", BOX, BOX) as writer:
        writer.add(arrays())
    before = json.loads((writer.folder / "metadata.json").read_text())
    assert before["total_steps"] == 2
    with pytest.raises(RunFolderError, match="exists; choose another --id or --out"):
        MinariWriter(tmp_path, "b-v0", BOX, BOX)
    assert json.loads((writer.folder / "metadata.json").read_text()) == before


def test_minari_sees_only_what_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    with MinariWriter(tmp_path, "c-v0", BOX, BOX) as writer:
        writer.add(arrays())
        assert list(minari.list_local_datasets()) == []
    assert list(minari.list_local_datasets()) == ["c-v0"]


@pytest.mark.parametrize(
    "name", ["", "a", "../a-v0", "/a-v0", "a b-v0", "a/-v", "a/../b-v0"]
)
def test_bad_identifiers(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="expected NAMESPACE/NAME-v0"):
        MinariWriter(tmp_path, name, BOX, BOX)
    assert list(tmp_path.iterdir()) == []


def test_spaces_that_have_no_form(tmp_path: Path) -> None:
    space = spaces.Sequence(BOX)
    with pytest.raises(ConfigError, match="cannot be stored"):
        MinariWriter(tmp_path, "a-v0", space, BOX)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk(tmp_full_disk: Path) -> None:
    writer = MinariWriter(tmp_full_disk, "a-v0", BOX, BOX)
    with pytest.raises(RunFolderError, match="cannot be written"), writer:
        writer.add(arrays(1_000_000))
    assert list(tmp_full_disk.iterdir()) == []
