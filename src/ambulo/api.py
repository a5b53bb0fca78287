"""The functions of `import ambulo`; heavy packages are imported inside them."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from ambulo.common.extras import missing_package
from ambulo.configs.errors import ConfigError, ModelFileError, MotionFileError, nearest
from ambulo.policies.registry import ModelCard as ModelCard  # noqa: PLC0414  public
from ambulo.policies.registry import pulled_cards, shipped_cards

if TYPE_CHECKING:
    import gymnasium

    from ambulo.configs.tasks import TaskSpec
    from ambulo.evaluate.tracking.pose_tracker import PoseTracker as PoseTracker  # noqa: PLC0414  public
    from ambulo.motion.formats.axes import Axes
    from ambulo.motion.motion import Motion
    from ambulo.motion.retargeting.retarget import Retargeted
    from ambulo.motion.skeleton import Skeleton

T = TypeVar("T")
logger = logging.getLogger(__name__)


def __getattr__(name: str) -> Any:
    """Return `PoseTracker`, which needs torch, when it is first used."""
    if name != "PoseTracker":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ambulo.evaluate.tracking.pose_tracker import PoseTracker

    return PoseTracker


class PlayableAgent(Protocol):
    """An agent whose file says in which environment it acts."""

    @property
    def env_id(self) -> str:
        """Identifier of the environment that it was trained in."""
        ...

    def env_settings(self) -> dict[str, Any]:
        """Return the keyword arguments of that environment."""
        ...


def models() -> dict[str, ModelCard]:
    """Return the cards of all shipped and pulled models by name.

    >>> import ambulo
    >>> card = ambulo.models()["gait_net"]
    >>> card.kind, card.summary
    ('gait_net', 'makes gaits: parameters of body and gait to motion')
    """
    return shipped_cards() | pulled_cards()


@overload
def load(name_or_path: str | os.PathLike[str]) -> Any: ...


@overload
def load(name_or_path: str | os.PathLike[str], kind: type[T]) -> T: ...


def load(name_or_path: str | os.PathLike[str], kind: type[Any] | None = None) -> Any:
    """Return a model of any kind, ready to use.

    | kind of model | class | use |
    |---|---|---|
    | VR navigation | `Agent` | `act(obs)` |
    | walker, gait policy | `LocomotionAgent` | `act(obs)` |
    | cascade of gait policies | `CascadeAgent` | `act(obs)`, after `make_vec(agent, ...)` |
    | motion network | `MotionNN` | `predict(states, frames)` |
    | pose network | `NeuralIKSolver` | `solve(targets)`, compiled already |
    | body tracker | `BodyTracker` | `step(sample, dt)`: a headset's whole body |
    | gait network | `GaitNetwork` | `walk(stride=1.1)` |
    | gait estimator | `GaitEstimator` | `estimate(poses, given)` |
    | muscle network | `MuscleNN` | `activations(active, torques)` |
    | gait reference | `Reference` | the gait that `ambulo/Gait-v0` follows |

    Args:
        name_or_path: An installed model (`models()` lists them), a model file, or the
            folder of a training run, whose best model is meant.
        kind: The class that the model must have; type checkers then know it.

    Raises:
        ModelFileError: No such model, a damaged one, or one of another class.
        MissingPackageError: A package that such models need is not installed.

    >>> import ambulo
    >>> walk = ambulo.load("gait_net").walk(cycles=4, stride=1.1)
    >>> len(walk), walk.skeleton.name
    (120, 'human23')
    """
    try:
        from ambulo.common.find_model import find_model
        from ambulo.policies.registry import load_file

        file = find_model(name_or_path)
        model = load_file(file)
    except ImportError as error:
        raise missing_package(error) or error from None
    if kind is not None and not isinstance(model, kind):
        raise ModelFileError(
            f"{file}: is a {type(model).__name__}, expected {kind.__name__}"
        )
    return model


def register(
    task: str | os.PathLike[str] | None = None, spec: TaskSpec | None = None
) -> None:
    """Register all environments with Gymnasium, and a task of your own if one is named.

    `make` and `make_vec` do the first themselves; `gymnasium.make` needs it. Tasks of
    installed packages (entry points of the group `ambulo.tasks`) are there without a call.

    Args:
        task: A file with a task, `TASK = TaskSpec(...)`, which processes that are started from
            here know too; or the name of the task `spec`, for this process.
        spec: The task.

    Raises:
        ConfigError: A task or a name that cannot be used.

    >>> import ambulo
    >>> from ambulo.configs.tasks import TaskSpec, TaskTraits
    >>> from ambulo.envs.tasks.stand import StandBatch
    >>> ambulo.register("my_stand", TaskSpec(StandBatch, TaskTraits(still=True)))
    >>> ambulo.make("MyStand-v0").close()
    """
    from ambulo.configs.task_registry import register_file, register_task
    from ambulo.envs import register_tasks

    if spec is not None:
        register_task(str(task), spec)
    elif task is not None:
        register_file(task)
    register_tasks()


def make(env: str | PlayableAgent, **settings: Any) -> gymnasium.Env[Any, Any]:
    """Return an environment with one character.

    Args:
        env: An identifier, with or without `ambulo/`, or a loaded agent: then the
            environment that it was trained in.
        **settings: Passed to the environment, for example `render_mode="rgb_array"` or
            any key of its configuration.

    Raises:
        ConfigError: There is no such environment, or a setting that it does not have.

    >>> import ambulo
    >>> env = ambulo.make("Stand-v0", max_episode_steps=50)
    >>> obs, info = env.reset(seed=0)
    >>> env.action_space.contains(env.action_space.sample())
    True
    >>> env.close()
    """
    import gymnasium

    name, own = _environment(env)
    made = gymnasium.make(name, **own | settings)
    if not isinstance(env, str):
        _connect(env, made)
    return made


def make_vec(
    env: str | PlayableAgent, num_envs: int, **settings: Any
) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """Return an environment with `num_envs` characters that are stepped together.

    Args:
        env: An identifier, with or without `ambulo/`, or a loaded agent: then the
            environment that it was trained in.
        num_envs: Number of characters, N; observations are (N, size).
        **settings: As for `make`.

    Raises:
        ConfigError: There is no such environment, or a setting that it does not have.

    >>> import ambulo
    >>> agent = ambulo.load("imitate_walk")
    >>> env = ambulo.make_vec(agent, num_envs=3)
    >>> obs, info = env.reset(seed=0)
    >>> for _ in range(30):
    ...     obs, reward, terminated, truncated, info = env.step(agent.act(obs))
    >>> bool(terminated.any())
    False
    >>> env.close()
    """
    import gymnasium

    name, own = _environment(env)
    made = gymnasium.make_vec(
        name, num_envs, vectorization_mode="vector_entry_point", **own | settings
    )
    if not isinstance(env, str):
        _connect(env, made)
    return made


def read_motion(
    path: str | os.PathLike[str],
    *,
    asf: str | os.PathLike[str] | None = None,
    units: str | float = "auto",
    drop_tpose: bool = False,
    axes: Axes | None = None,
    strict: bool = False,
) -> Motion:
    """Return the motion in a BVH, AMC, NPZ or DeepMimic file: metres, Z up.

    Args:
        path: The file; its ending says the format.
        asf: Skeleton of an AMC file; found in the same folder if left out.
        units: Unit of length of a BVH or AMC file: "m", "cm", "mm", "inch", "asf", a
            number of metres, or "auto".
        drop_tpose: Drop leading frames of a synthetic T-pose.
        axes: Up and forward directions of a BVH or AMC file; Y up if left out.
        strict: Refuse a file in which anything must be mended, or whose unit fits no adult;
            such things are logged otherwise.

    Raises:
        MotionFileError: The file cannot be used; names the line and the rule.

    >>> import ambulo, tempfile
    >>> walk = ambulo.load("gait_net").walk(cadence=0.9)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ambulo.write_motion(f"{folder}/walk.bvh", walk)
    ...     again = ambulo.read_motion(f"{folder}/walk.bvh")
    >>> len(again) == len(walk)
    True
    """
    from ambulo.motion.formats.axes import CMU_AXES
    from ambulo.motion.formats.files import read_motion as read
    from ambulo.motion.retargeting.source import unit_fault

    motion = read(
        path, asf=asf, units=units, drop_tpose=drop_tpose,
        axes=axes or CMU_AXES, strict=strict,
    )  # fmt: skip
    fault = unit_fault(motion, path, asf) if units == "auto" else ""
    if fault and strict:
        raise MotionFileError(Path(path), 0, fault)
    if fault:
        logger.warning("%s: %s", path, fault)
    return motion


def write_motion(
    path: str | os.PathLike[str],
    motion: Motion,
    *,
    units: str | float = "auto",
    axes: Axes | None = None,
) -> None:
    """Write a motion as BVH, AMC (with its skeleton beside it) or NPZ.

    Args:
        path: The file, written whole or not at all; its ending says the format.
        motion: The motion.
        units: Unit of length: centimetres for BVH, the CMU data base's for AMC by default.
        axes: Up and forward directions of a BVH or AMC file; Y up if left out.
    """
    from ambulo.motion.formats.axes import CMU_AXES
    from ambulo.motion.formats.files import write_motion as write

    write(path, motion, units=units, axes=axes or CMU_AXES)


def retarget(
    motion: Motion,
    target: str | Skeleton | Motion,
    *,
    fit_lengths: bool = False,
    refine: bool = True,
    ground: bool = True,
    axes: str = "auto",
    rest_pose: str = "auto",
) -> Retargeted:
    """Return a motion on another skeleton: its `motion`, and its `error` from the source.

    Args:
        motion: A motion of any skeleton whose joints have roles.
        target: The skeleton, the name of one of ours, such as "human23", a body of your own,
            such as "my_robot.urdf", or the skeleton of a motion or of its file, "rig.bvh".
        fit_lengths: Give the target the lengths of the source's segments first.
        refine: Refine by least squares; without it hinges cut off and feet slide a bit.
        ground: Set feet on level ground; without it they stay where the source has them.
        axes: Up and forward of the motion's file, such as "z-up"; "auto": as it shows.
        rest_pose: "auto", "file", "motion", "t-pose" or "frame:N": a standing body to
            start from, which the offsets of some files are not.

    Raises:
        MotionError: A skeleton lacks hips or thighs; axes or rest pose are ambiguous; the
            result would not be the source's motion.
        SkeletonError: There is no skeleton of that name.

    >>> import ambulo
    >>> walk = ambulo.load("gait_net").walk()
    >>> result = ambulo.retarget(walk, "human23", refine=False)
    >>> len(result.motion) == len(walk)
    True
    """
    from dataclasses import replace

    from ambulo.envs.characters.registry import skeleton_of
    from ambulo.motion.motion import Motion as Clip
    from ambulo.motion.retargeting.retarget import retarget as on
    from ambulo.motion.retargeting.source import prepared

    if isinstance(target, str):
        skeleton = skeleton_of(target)
    elif isinstance(target, Clip):
        skeleton = prepared(target).motion.skeleton
    else:
        skeleton = target
    source = prepared(motion, axes, rest_pose)
    done = on(source, skeleton, fit_lengths=fit_lengths, refine=refine, ground=ground)
    replace(source, notes=done.notes).logged()
    return done


def _environment(env: str | PlayableAgent) -> tuple[str, dict[str, Any]]:
    """Return the full identifier of an environment, and an agent's settings of it."""
    import gymnasium

    register()
    own: dict[str, Any] = {}
    name = env if isinstance(env, str) else env.env_id
    if not isinstance(env, str):
        own = env.env_settings()
    full = name if "/" in name else f"ambulo/{name}"
    ours = [known for known in gymnasium.registry if known.startswith("ambulo/")]
    if full not in ours:
        short = [known.removeprefix("ambulo/") for known in ours]
        hint = nearest(name.removeprefix("ambulo/"), short)
        raise ConfigError(f"no environment {name!r}{hint}")
    return full, own


def _connect(agent: object, env: Any) -> None:
    """Let an agent see what it needs of the environment that was made for it.

    A cascade needs the bodies, a recurrent navigator where episodes begin.
    """
    from ambulo.envs.tasks.gait.batch import GaitBatch
    from ambulo.envs.tasks.gait.joint_state import joint_states
    from ambulo.envs.vr.task.batch import NavigationBatch
    from ambulo.policies.agents.cascade import CascadeAgent
    from ambulo.policies.agents.navigation import Agent

    batch = getattr(env.unwrapped, "batch", None)
    if isinstance(agent, Agent) and isinstance(batch, NavigationBatch):
        agent.connect(lambda: batch.episode.steps == 0)
    if isinstance(agent, CascadeAgent) and isinstance(batch, GaitBatch):
        agent.connect(lambda values: joint_states(batch, values))
