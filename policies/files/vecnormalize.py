"""Observation statistics that Stable-Baselines3's `VecNormalize` saved, without its pickle.

`vecnormalize.pkl` is a pickle of the whole wrapper. Its opcodes are checked first; then
every class that it names is a stand-in which only keeps what is attached to it, so that no
code of the file runs. Arrays are made from their raw bytes.
"""

from __future__ import annotations

import io
import math
import pickle
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambulo.configs.errors import ModelFileError
from ambulo.configs.reading import read_regular_text
from ambulo.policies.files.archive import open_model_file
from ambulo.policies.files.torch_tensors import MAX_PICKLE, OPCODES, check_opcodes

_OPCODES = OPCODES | {
    "ADDITEMS", "BINBYTES", "EMPTY_SET", "FROZENSET", "LONG4", "NEWOBJ", "NEWOBJ_EX",
    "POP", "POP_MARK", "SHORT_BINBYTES",
}  # fmt: skip
_TYPES = {"f8": np.float64, "f4": np.float32, "i8": np.int64, "b1": np.bool_}
_STEPS = re.compile(r"(.*)_(\d+_steps)")
_NORMALIZE = re.compile(
    r"^( *)normalize: *(.*(?:\n\1 +\S.*)*)$"
    r"|^[ -]*normalize(?::|\n +-) *(.*(?:\n {5,}\S.*)*)$",
    re.MULTILINE,
)
"""The key `normalize` of rl_zoo3's `config.yml`, in a mapping or in a list of pairs."""
_COMMENT = re.compile(r"(?:^|\s)#.*")
_NOT_OBSERVATIONS = re.compile(
    r"(?i)(?:false|no|off|null|none|~)?$|.*norm_obs\W+false", re.DOTALL
)
"""Values of that key with which observations stay as they are."""
_MOST_CONFIG = 2**20
"""Largest `config.yml` that is read, [bytes]."""


@dataclass(frozen=True)
class VecNormalizeStatistics:
    """The normalisation that an agent was trained behind."""

    mean: NDArray[np.float32]
    """Mean of each number of an observation. Shape (size,)."""
    deviation: NDArray[np.float32]
    """Standard deviation, above 0. Shape (size,)."""
    clip: float
    """Largest magnitude of a normalised number."""

    def __call__(self, obs: NDArray[np.float32]) -> NDArray[np.float32]:
        """Normalised observations, (N, size) for (N, size)."""
        scaled = np.clip((obs - self.mean) / self.deviation, -self.clip, self.clip)
        return scaled.astype(np.float32)


def find_vecnormalize(model: Path) -> Path | None:
    """The statistics that lie beside a Stable-Baselines3 zip, or None.

    Places: rl_zoo3's folder of the environment, `vecnormalize.pkl` beside the zip, and the
    names of `CheckpointCallback`.

    Raises:
        ModelFileError: There are none, and rl_zoo3's `config.yml` says that the agent was
            trained on normalised observations.
    """
    steps = _STEPS.fullmatch(model.stem)
    names = [f"{model.stem}/vecnormalize.pkl", f"{model.stem}_vecnormalize.pkl"]
    if steps is not None:
        names.append(f"{steps[1]}_vecnormalize_{steps[2]}.pkl")
    names += ["vecnormalize.pkl", "vec_normalize.pkl"]
    found = [model.parent / name for name in names]
    found += _in_only_folder(model, "vecnormalize.pkl")
    statistics = next((path for path in found if path.is_file()), None)
    if statistics is None:
        beside = [
            model.parent / name for name in (f"{model.stem}/config.yml", "config.yml")
        ]
        for config in [*beside, *_in_only_folder(model, "config.yml")]:
            if _normalizes(config):
                missing = config.with_name("vecnormalize.pkl")
                raise ModelFileError(
                    f"{model}: was trained on normalised observations ({config}: "
                    f"normalize), and their statistics are missing: {missing}"
                )
    return statistics


def _in_only_folder(model: Path, name: str) -> list[Path]:
    """The file `name` of the only folder beside `model` that has it, as of a best_model.zip."""
    found = list(model.parent.glob(f"*/{name}"))
    return found if len(found) == 1 else []


def _normalizes(config: Path) -> bool:
    """Whether hyper-parameters of rl_zoo3 normalise observations; no YAML tag is followed."""
    try:
        match = _NORMALIZE.search(read_regular_text(config, _MOST_CONFIG))
    except (OSError, UnicodeDecodeError):
        return False
    if match is None:
        return False
    value = _COMMENT.sub("", match[2] or match[3] or "").strip(" '\"")
    return _NOT_OBSERVATIONS.match(value) is None


def read_vecnormalize(
    path: Path, size: int, *, trust_pickle: bool = False
) -> VecNormalizeStatistics | None:
    """The statistics of observations in `path`; None where it normalises only rewards.

    Args:
        path: A file of `VecNormalize.save`.
        size: Numbers of an observation.
        trust_pickle: Let the pickle run if it cannot be read without.

    Raises:
        ModelFileError: Damaged, of another size, or more than such a wrapper.
    """
    with open_model_file(path) as file:
        text = file.read(MAX_PICKLE + 1)
    try:
        check_opcodes(text, _OPCODES)
        wrapper = _StandInReader(io.BytesIO(text)).load()
    except Exception as error:  # whatever a damaged pickle makes of the stand-ins
        if not trust_pickle:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise ModelFileError(
                f"{path}: cannot be read without running it ({reason:.200}); for a file "
                "of your own, --trust-pickle runs it"
            ) from None
        wrapper = _trusted(path)
    try:
        return _statistics(wrapper, size)
    except (AttributeError, OverflowError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{path}: no statistics of {size} observations: {error}"
        ) from None


def _trusted(path: Path) -> Any:
    """The wrapper in `path`, whose pickle runs: only if the user asked for that."""
    with open_model_file(path) as file:
        text = file.read()
    try:
        return pickle.loads(text)
    except Exception as error:  # its code may raise anything
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ModelFileError(f"{path}: is no pickle of here: {reason:.200}") from None


def _statistics(wrapper: Any, size: int) -> VecNormalizeStatistics | None:
    """Statistics of a wrapper, or of its stand-in."""
    if not getattr(wrapper, "norm_obs", True):
        return None
    mean, variance = (_numbers(getattr(wrapper.obs_rms, k)) for k in ("mean", "var"))
    epsilon, clip = float(wrapper.epsilon), float(wrapper.clip_obs)
    if mean.shape != (size,) or variance.shape != (size,):
        raise ValueError(f"they are of shape {mean.shape}")
    with np.errstate(invalid="ignore", over="ignore"):
        deviation = np.sqrt(variance + epsilon).astype(np.float32)
        centre = mean.astype(np.float32)
    good = np.isfinite(centre).all() and np.isfinite(deviation).all()
    if not good or deviation.min() <= 0.0 or not 0.0 < clip < math.inf:
        raise ValueError("some are not finite, or not positive")
    return VecNormalizeStatistics(centre, deviation, clip)


def _numbers(value: Any) -> NDArray[np.float64]:
    """The numbers of an array; lists are refused, as a few bytes can nest them to any size."""
    array = value.array() if isinstance(value, _Array) else value
    if not isinstance(array, np.ndarray):
        raise TypeError("the statistics are no arrays")
    return array.astype(np.float64)


class _StandIn:
    """An object of a class that a pickle names: only what is attached to it."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Ignore the arguments."""

    def __new__(cls, *args: object, **kwargs: object) -> _StandIn:
        """Ignore the arguments."""
        return super().__new__(cls)

    def __setstate__(self, state: object) -> None:
        """Keep named values."""
        if isinstance(state, dict):
            self.__dict__.update({k: v for k, v in state.items() if type(k) is str})

    def __iter__(self) -> Iterator[Any]:
        """Nothing."""
        return iter(())

    def append(self, item: object) -> None:
        """Ignore an item."""

    def __setitem__(self, key: object, value: object) -> None:
        """Ignore an item."""


class _DType(_StandIn):
    """A type of numbers."""

    def __init__(self, name: object = "", *args: object) -> None:
        """Create the stand-in of the type `name`, such as `f8`."""
        self.name, self.order = name, "<"

    def __setstate__(self, state: object) -> None:
        """Keep the byte order, the second entry."""
        self.order = state[1] if isinstance(state, tuple) and len(state) > 1 else "?"


class _Array(_StandIn):
    """An array: its shape, type and bytes."""

    state: tuple[Any, ...] = ()

    def __setstate__(self, state: object) -> None:
        """Keep (version, shape, type, whether in Fortran's order, bytes)."""
        self.state = state if isinstance(state, tuple) and len(state) == 5 else ()

    def array(self) -> NDArray[Any]:
        """The numbers; `ValueError` where the parts do not fit."""
        if not self.state:
            raise ValueError("an array without numbers")
        _, shape, kind, _, raw = self.state
        if not isinstance(kind, _DType) or kind.order not in ("<", "|"):
            raise ValueError("an array that is not little-endian")
        name = kind.name if isinstance(kind.name, str) else ""
        if name not in _TYPES or not isinstance(raw, bytes):
            raise ValueError(f"an array of {name!r:.80}")
        return np.frombuffer(raw, _TYPES[name]).reshape(shape)


class _StandInReader(pickle.Unpickler):
    """Makes stand-ins of everything that a pickle names."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the stand-in of a class or function."""
        if module.partition(".")[0] == "numpy":
            if name == "dtype":
                return _DType
            if name == "_reconstruct":
                return _Array
        return _StandIn

    def persistent_load(self, pid: Any) -> Any:
        """Refuse what lies outside of the file."""
        raise pickle.UnpicklingError("it refers to another file")
