"""Roll-outs as a data set of Minari (https://minari.farama.org)."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from ambulo.configs.errors import ConfigError, RunFolderError

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

    The folder gets its name at the end, so that Minari reads no half-written data set; after
    an error it is removed.
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
        """Make a new data set.

        Args:
            root: Folder of data sets, as `MINARI_DATASETS_PATH` names it.
            identifier: `NAMESPACE/NAME-vN`; the namespace may be left out.
            observation_space: Of one environment.
            action_space: Of one environment.
            env_spec: How the environment is made again; None where it cannot be.
            about: Further metadata: algorithm_name, description, ...

        Raises:
            ConfigError: A bad identifier, or a space that has no stored form.
            RunFolderError: The data set exists, or its folder cannot be written.
            ImportError: Minari or h5py is not installed.
        """
        from minari import __version__
        from minari.dataset.minari_storage import MinariStorage

        check_identifier(identifier)
        self.folder = root / identifier / "data"
        if self.folder.exists():
            raise RunFolderError(f"{self.folder}: exists; choose another --id or --out")
        parent = self.folder.parent
        self._made = [p for p in (parent, *parent.parents) if not p.exists()]
        try:
            with self._failures():
                parent.mkdir(parents=True, exist_ok=True)
                self._part = tempfile.TemporaryDirectory(
                    prefix=".data.", dir=parent, ignore_cleanup_errors=True
                )
                self._storage = MinariStorage.new(
                    self._part.name, observation_space, action_space, env_spec,
                    jpeg_encoding=False,
                )  # fmt: skip
                names = {"dataset_id": identifier, "minari_version": __version__}
                self._storage.update_metadata({**names, **(about or {})})
        except BaseException:
            self._remove()
            raise

    def add(self, episode: EpisodeArrays) -> None:
        """Write the next episode.

        Raises:
            RunFolderError: The disk is full or broken.
        """
        from minari.data_collector import EpisodeBuffer

        buffer = EpisodeBuffer(**vars(episode))
        with self._failures():
            self._storage.update_episodes([buffer])

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give the data set its name, or remove it after an error."""
        try:
            if kind is None:
                with self._failures():
                    Path(self._part.name).chmod(0o755)
                    Path(self._part.name).rename(self.folder)
        finally:
            self._remove()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Turn what the disk and Minari raise into errors of one line."""
        try:
            yield
        except NotImplementedError as error:
            raise ConfigError(f"cannot be stored: {error}") from None
        except (OSError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise RunFolderError(
                f"{self.folder}: cannot be written: {reason}"
            ) from None

    def _remove(self) -> None:
        """Remove what has not got its name, and the folders that were made for it."""
        if hasattr(self, "_part"):
            self._part.cleanup()
        for folder in self._made:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()


def check_identifier(identifier: str) -> None:
    """Raise `ConfigError` for a text that is no identifier of a data set."""
    if not _IDENTIFIER.fullmatch(identifier):
        raise ConfigError(f"{identifier!r}: expected NAMESPACE/NAME-v0 or NAME-v0")


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
