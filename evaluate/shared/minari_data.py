"""Roll-outs as a data set of Minari (https://minari.farama.org), written with h5py alone.

The layout on disk is that of Minari 0.5 (`minari/dataset/_storages/hdf5_storage.py`):

    ROOT/ID/data/metadata.json     spaces, environment, author, totals
    ROOT/ID/data/main_data.hdf5    group `episode_K` with the arrays of an episode
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from ambulo.common.files import write_atomic
from ambulo.configs.errors import ConfigError, RunFolderError

MINARI_FORMAT = "0.5.4"
"""Version of Minari whose layout is written; 0.5.4 and later read it."""
DATA, METADATA = "main_data.hdf5", "metadata.json"
_IDENTIFIER = re.compile(r"([-_\w]+/)*[-_\w]+-v\d+", re.ASCII)


@dataclass(frozen=True)
class EpisodeArrays:
    """One episode of T steps."""

    observations: NDArray[Any]
    """Before the first and after every step. Shape (T + 1, ...)."""
    actions: NDArray[Any]
    """Shape (T, ...)."""
    rewards: NDArray[np.float64]
    """Shape (T,)."""
    terminations: NDArray[np.bool_]
    """Whether the task ended by a step. Shape (T,)."""
    truncations: NDArray[np.bool_]
    """Whether time ended by a step. Shape (T,)."""
    infos: Mapping[str, NDArray[Any]]
    """Numbers of `info` by name; a name with `/` is nested. Shape (T,) each."""
    seed: int | None = None
    """Seed of its environment; None where an episode before it used the generator."""


class MinariWriter:
    """Writes a data set episode by episode; a context manager.

    `metadata.json` appears at the end, so that Minari reads no half-written data set; after
    an error the folder is removed again.
    """

    def __init__(
        self,
        root: Path,
        identifier: str,
        observation_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        *,
        env_spec: EnvSpec | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        """Make the folder of a new data set.

        Args:
            root: Folder of data sets, as `MINARI_DATASETS_PATH` names it.
            identifier: `NAMESPACE/NAME-vN`; the namespace may be left out.
            observation_space: Of one environment.
            action_space: Of one environment.
            env_spec: How the environment is made again; None where it cannot be.
            about: Further metadata: author, algorithm_name, description, ...

        Raises:
            ConfigError: A bad identifier, or a space that has no stored form.
            RunFolderError: The data set exists, or its folder cannot be written.
            ImportError: h5py is not installed.
        """
        import h5py

        check_identifier(identifier)
        self.folder = root / identifier / "data"
        self._metadata: dict[str, Any] = {
            "data_format": "hdf5",
            "jpeg_encoding": False,
            "observation_space": json.dumps(_space(observation_space)),
            "action_space": json.dumps(_space(action_space)),
            "dataset_id": identifier,
            "minari_version": MINARI_FORMAT,
            **(about or {}),
        }
        if env_spec is not None:
            self._metadata["env_spec"] = env_spec.to_json()
        self.episodes = self.steps = 0
        if self.folder.exists():
            raise RunFolderError(f"{self.folder}: exists; choose another --id or --out")
        self._made = [p for p in (self.folder, *self.folder.parents) if not p.exists()]
        try:
            self.folder.mkdir(parents=True)
            self._file = h5py.File(self.folder / DATA, "w", track_order=True)
        except OSError as error:
            self._remove()
            reason = error.strerror or str(error)
            raise RunFolderError(
                f"{self.folder}: cannot be written: {reason}"
            ) from None

    def add(self, episode: EpisodeArrays) -> None:
        """Write the next episode.

        Raises:
            RunFolderError: The disk is full or broken.
        """
        try:
            group = self._file.create_group(f"episode_{self.episodes}")
            group.attrs["id"] = self.episodes
            group.attrs["total_steps"] = len(episode.rewards)
            if episode.seed is not None:
                group.attrs["seed"] = episode.seed
            for name in _ARRAYS:
                group.create_dataset(name, data=getattr(episode, name))
            for name, values in episode.infos.items():
                group.create_dataset(f"infos/{name}", data=values)
        except (OSError, RuntimeError) as error:
            raise RunFolderError(f"{self.folder}: cannot be written: {error}") from None
        self.episodes += 1
        self.steps += len(episode.rewards)

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish the data set, or remove it after an error."""
        try:
            self._file.close()
            if kind is None:
                size = (self.folder / DATA).stat().st_size
                totals = {
                    "total_episodes": self.episodes,
                    "total_steps": self.steps,
                    "dataset_size": round(size / 1e6, 1),
                }
                text = json.dumps(self._metadata | totals)
                write_atomic(self.folder / METADATA, text)
                return
        except (OSError, RuntimeError, RunFolderError) as failed:
            self._remove()
            if kind is None:
                raise RunFolderError(
                    f"{self.folder}: cannot be written: {failed}"
                ) from None
        self._remove()

    def _remove(self) -> None:
        """Remove what was made."""
        for name in (DATA, METADATA):
            (self.folder / name).unlink(missing_ok=True)
        for folder in self._made:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def check_identifier(identifier: str) -> None:
    """Raise `ConfigError` for a text that is no identifier of a data set."""
    if not _IDENTIFIER.fullmatch(identifier):
        raise ConfigError(f"{identifier!r}: expected NAMESPACE/NAME-v0 or NAME-v0")


_ARRAYS = ("observations", "actions", "rewards", "terminations", "truncations")


def _space(space: spaces.Space[Any]) -> dict[str, Any]:
    """Return the stored form of a space (`minari/serialization.py`)."""
    if isinstance(space, spaces.Box):
        return {
            "type": "Box",
            "dtype": str(space.dtype),
            "shape": list(space.shape),
            "low": space.low.tolist(),
            "high": space.high.tolist(),
        }
    if isinstance(space, spaces.Discrete):
        return {
            "type": "Discrete",
            "dtype": "int64",
            "start": int(space.start),
            "n": int(space.n),
        }
    raise ConfigError(f"{space}: cannot be stored; boxes and discrete spaces can")


class ActingAgent(Protocol):
    """What acts in the environments."""

    def act(self, obs: NDArray[Any], *, deterministic: bool = True) -> NDArray[Any]:
        """Return actions (N, A) for observations (N, size)."""
        ...


@dataclass
class _Record:
    """The steps of one environment's episode so far."""

    seed: int | None
    observations: list[NDArray[Any]]
    actions: list[NDArray[Any]] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    terminations: list[bool] = field(default_factory=list)
    truncations: list[bool] = field(default_factory=list)
    infos: dict[str, list[Any]] = field(default_factory=dict)

    def episode(self) -> EpisodeArrays:
        """Return it as arrays."""
        return EpisodeArrays(
            np.array(self.observations),
            np.array(self.actions),
            np.array(self.rewards, np.float64),
            np.array(self.terminations, np.bool_),
            np.array(self.truncations, np.bool_),
            {name: np.array(values) for name, values in self.infos.items()},
            self.seed,
        )


def rollouts(
    agent: ActingAgent,
    env: gymnasium.vector.VectorEnv[Any, Any, Any],
    episodes: int,
    *,
    seed: int = 0,
    deterministic: bool = True,
) -> Iterator[EpisodeArrays]:
    """Yield whole episodes, each when it ends.

    How many each environment plays is fixed beforehand, so that short episodes are not
    preferred. Environment i has the seed `seed` + i.

    Args:
        agent: What acts.
        env: N environments that reset by themselves one step after an episode's end
            (`AutoresetMode.NEXT_STEP`), with flat observations.
        episodes: Number of episodes, at least N.
        seed: Of everything random.
        deterministic: Mean instead of sampled actions.
    """
    count = env.num_envs
    left = np.full(count, episodes // count)
    left[: episodes % count] += 1
    obs, _ = env.reset(seed=seed)
    records = [_Record(seed + i, [obs[i].copy()]) for i in range(count)]
    begins = np.zeros(count, np.bool_)
    while left.any():
        actions = agent.act(obs, deterministic=deterministic)
        obs, rewards, terminated, truncated, infos = env.step(actions)
        names = _numbers(infos, count)
        for i in np.flatnonzero(left):
            if begins[i]:  # this step was a reset
                records[i] = _Record(None, [obs[i].copy()])
                continue
            record = records[i]
            record.observations.append(obs[i].copy())
            record.actions.append(actions[i].copy())
            record.rewards.append(float(rewards[i]))
            record.terminations.append(bool(terminated[i]))
            record.truncations.append(bool(truncated[i]))
            for name in names:
                record.infos.setdefault(name, []).append(infos[name][i])
            if terminated[i] or truncated[i]:
                left[i] -= 1
                yield record.episode()
        begins = terminated | truncated


def _numbers(infos: Mapping[str, Any], count: int) -> Sequence[str]:
    """Return the infos that are a number of each environment."""
    return [
        name
        for name, values in infos.items()
        if not name.startswith("_")
        and isinstance(values, np.ndarray)
        and values.shape == (count,)
        and values.dtype.kind in "bif"
    ]
