"""The motion class: a skeleton, a rate, root positions and local rotations over time."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from ambulo.configs.arrays import Floats
from ambulo.configs.errors import MotionError
from ambulo.motion.skeleton import Skeleton


@dataclass(frozen=True, eq=False)
class Motion:
    """T frames of a skeleton's movement; arrays are read-only, in metres, Z up."""

    skeleton: Skeleton
    """The skeleton that moves, J joints."""
    fps: float
    """Frames per second, [Hz]."""
    root_positions: Floats
    """World position of the root, [m]. Shape (T, 3)."""
    rotations: Floats
    """Local rotations wxyz, identity at rest. Shape (T, J, 4)."""
    joint_offsets: Floats | None = None
    """Offsets that replace the skeleton's in each frame, [m], if a file moves other joints than
    the root. Shape (T, J, 3); the root's row is not used."""
    name: str = ""
    """Name, for example that of its file."""
    notes: tuple[str, ...] = ()
    """Repairs made when its file was read."""

    def __post_init__(self) -> None:
        """Validate shapes and values; raise `MotionError` naming the rule that is broken."""
        frames, joints = len(self.root_positions), len(self.skeleton)
        if not (np.isfinite(self.fps) and self.fps > 0.0):
            raise MotionError(f"{self.label}: fps must be above 0, got {self.fps}")
        if frames < 1:
            raise MotionError(f"{self.label}: a motion has at least one frame")
        self._freeze("root_positions", (frames, 3))
        self._freeze("rotations", (frames, joints, 4))
        if self.joint_offsets is not None:
            self._freeze("joint_offsets", (frames, joints, 3))
        squares = np.einsum("...i,...i", self.rotations, self.rotations)
        if np.abs(squares - 1.0).max() > 2e-6:
            raise MotionError(f"{self.label}: rotations must be unit quaternions")

    def _freeze(self, field: str, shape: tuple[int, ...]) -> None:
        array: Floats = np.ascontiguousarray(getattr(self, field), dtype=np.float64)
        if array.shape != shape:
            raise MotionError(
                f"{self.label}: {field}: expected shape {shape}, got {array.shape}"
            )
        if not np.isfinite(array).all():
            raise MotionError(f"{self.label}: {field}: every number must be finite")
        if array.flags.writeable:
            array = array.copy()  # the caller could modify it after the checks
            array.setflags(write=False)
        object.__setattr__(self, field, array)

    def __repr__(self) -> str:
        """Name, frames, rate and skeleton, without the arrays."""
        return (
            f"<Motion {self.label!r}: {len(self)} frames at {self.fps:g} fps, "
            f"{self.skeleton!r}>"
        )

    @property
    def label(self) -> str:
        """Its name for messages; "motion" if it has none."""
        return self.name or "motion"

    def __len__(self) -> int:
        """The number of frames."""
        return len(self.root_positions)

    @property
    def duration(self) -> float:
        """Time from the first to the last frame, [s]."""
        return (len(self) - 1) / self.fps

    @property
    def times(self) -> Floats:
        """Time of each frame, [s]. Shape (T,)."""
        return np.arange(len(self)) / self.fps

    def replace(self, **changes: object) -> Motion:
        """A checked copy with other field values."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def __getitem__(self, frames: slice) -> Motion:
        """The frames of a slice; its step divides the rate."""
        if not isinstance(frames, slice):
            raise MotionError(
                "a motion is sliced, motion[10:20]; it has no single frames"
            )
        step = 1 if frames.step is None else int(frames.step)
        if step < 1:
            raise MotionError(f"{self.label}: a slice needs a step of at least 1")
        kept = range(len(self))[frames]
        if not kept:
            raise MotionError(f"{self.label}: no frame lies in {frames}")
        offsets = self.joint_offsets
        return self.replace(
            fps=self.fps / step,
            root_positions=self.root_positions[frames],
            rotations=self.rotations[frames],
            joint_offsets=None if offsets is None else offsets[frames],
        )
