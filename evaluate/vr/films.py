"""Films of recorded episodes, drawn by MuJoCo, by a Godot engine, or by both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from ambulo.configs.errors import ConfigError, nearest
from ambulo.evaluate.shared.choices import check_choice
from ambulo.evaluate.vr.figures import longest_detour
from ambulo.evaluate.vr.reel import HUMAN, VIEWS, Reel, make_reel
from ambulo.evaluate.vr.scores import EpisodeRecord, EpisodeRecords

if TYPE_CHECKING:
    from ambulo.configs.vr import NavigationConfig
    from ambulo.envs.offscreen import Frame

Engine = Literal["mujoco", "godot"]
ENGINES: tuple[Engine, ...] = ("mujoco", "godot")
EXTREMES = ("worst", "best")
"""Names of episodes for `--film-episode`, beside their numbers."""
BOTH = "both"
"""Asks for both engines, side by side."""
SIZE = (480, 360)
"""Width and height of each view, [px]."""
FPS = {".mp4": 30.0, ".gif": 12.5}
"""Frames a second of a short film; a GIF counts hundredths of a second."""
CAPSULE_FPS = 10.0
"""Frame rate of a capsule in MuJoCo, [Hz]: one environment step per frame."""
SMOOTH_FRAMES = 400
"""Longer films from Godot are drawn without smooth edges: the processor may draw them."""
_TRAIL_STEP = 0.15
"""Between two points of the way so far in MuJoCo's pictures, [m]."""


@dataclass(frozen=True)
class FilmSettings:
    """Which episode is filmed, and how."""

    engines: tuple[Engine, ...] = ("mujoco",)
    """Engines that draw; several: side by side, the same moments from the same cameras."""
    views: tuple[str, ...] = ("chase", "top")
    """Names in `VIEWS`: side by side; with two engines side by side, below each other."""
    episode: int | str | None = None
    """Number of the episode, or of `EXTREMES`; None: one with a long detour."""

    @classmethod
    def of(
        cls,
        config: NavigationConfig,
        film_with: str | None,
        views: str | None,
        episode: str | None = None,
        episodes: int = 1,
    ) -> FilmSettings:
        """The settings of `--film-with`, `--views` and `--film-episode`; None: the usual ones.

        The engine of the world in which the episode is played draws, if nothing else is
        asked for. `episodes` are played.

        Raises:
            ConfigError: Unknown names, an episode that is not played, or a body that an
                engine or a view cannot show.
        """
        env = config.environment
        if film_with is None:
            film_with = "godot" if env.world == "godot" else "mujoco"
        check_choice("--film-with", film_with, (*ENGINES, BOTH))
        engines = tuple(name for name in ENGINES if film_with in (name, BOTH))
        shown = cls.views if views is None else tuple(views.split(","))
        for name in shown:
            check_choice("--views", name, VIEWS)
        if len(set(shown)) < len(shown):
            raise ConfigError(f"--views {views}: names a view twice")
        needs_joints = "godot" in engines or "eyes" in shown
        asked = "--views eyes" if "eyes" in shown else f"--film-with {film_with}"
        if needs_joints and env.body == "twin":
            raise ConfigError(
                f"{asked}: body = twin is a disc without poses; play it with --body {HUMAN}"
            )
        if needs_joints and env.character not in (None, HUMAN):
            raise ConfigError(f"{asked}: is for the body {HUMAN}, not for {env.body}")
        return cls(engines, shown, _episode_number(episode, episodes))


def _episode_number(text: str | None, episodes: int) -> int | str | None:
    """The value of `--film-episode` where so many `episodes` are played."""
    if text is None or text in EXTREMES:
        return text
    if not text.isdecimal():
        hint = nearest(text, EXTREMES)
        raise ConfigError(
            f"--film-episode: {text!r} is neither a number nor worst or best{hint}"
        )
    if int(text) >= episodes:
        raise ConfigError(f"--film-episode {text}: episodes are 0 to {episodes - 1}")
    return int(text)


def filmed_episode(records: EpisodeRecords, episode: int | str | None) -> EpisodeRecord:
    """The episode that `FilmSettings.episode` names.

    The worst is the failed one that is farthest from its goal, or else that of the lowest
    SPL; the best has the highest SPL.
    """
    if episode is None:
        return longest_detour(records)
    if isinstance(episode, int):
        return records.episodes[episode]
    merits = np.column_stack([-records.column("left"), records.spl()])
    order = np.lexsort((merits[:, 1], merits[:, 0]))
    return records.episodes[order[0 if episode == "worst" else -1]]


def check_can_film(config: NavigationConfig, settings: FilmSettings) -> None:
    """Refuse a film from Godot before the episodes are played.

    Raises:
        RenderError: no Godot engine that can draw.
    """
    if "godot" in settings.engines:
        from ambulo.envs.godot.locate import find_drawing_engine

        find_drawing_engine(config.environment.godot_bin)


def write_episode_video(
    record: EpisodeRecord, config: NavigationConfig, settings: FilmSettings, path: Path
) -> None:
    """Film of one episode in real time.

    Args:
        record: the episode.
        config: of the world it was played in.
        settings: what draws what.
        path: .mp4 or .gif file.

    Raises:
        RenderError: nothing can be drawn on this machine, or no encoder.
        BridgeError: no Godot project.
    """
    from ambulo.envs.vr.world.render import write_video

    env = config.environment
    most = FPS.get(path.suffix, FPS[".mp4"])
    if env.character is None and settings.engines == ("mujoco",):
        most = min(most, CAPSULE_FPS)
    reel = make_reel(record, env.character, settings.views, most, env.eye_height)
    write_video(film_frames(reel, config, settings.engines), path, fps=reel.fps)


def film_frames(
    reel: Reel,
    config: NavigationConfig,
    engines: Sequence[Engine],
    size: tuple[int, int] = SIZE,
) -> Iterator[Frame]:
    """The frames of a film.

    One engine: its views are side by side, shape (height, views * width, 3). Two: each has
    a column, with its views below each other, shape (views * height, 2 * width, 3).

    Args:
        reel: what is filmed.
        config: of the world it was played in.
        engines: what draws.
        size: width and height of a view, [px].
    """
    draw = {"mujoco": _mujoco_frames, "godot": _godot_frames}
    films = [draw[name](reel, config, size, len(engines) == 1) for name in engines]
    for columns in zip(*films, strict=True):
        if len(columns) == 1:
            yield np.concatenate(columns[0], axis=1)
        else:
            yield np.concatenate([np.concatenate(views) for views in columns], axis=1)


def _godot_frames(
    reel: Reel, config: NavigationConfig, size: tuple[int, int], rays: bool
) -> Iterator[list[Frame]]:
    """The views of each frame; with the sensor's rays on request."""
    from ambulo.envs.vr.contract import WorldSpec
    from ambulo.viz.godot_film import GodotFilm

    with GodotFilm(
        reel.level,
        reel.poses,
        WorldSpec.from_config(config),
        goal_radius=config.environment.goal_radius,
        views=reel.cameras,
        bodies=reel.body_rows(),
        size=size,
        rays=rays,
        smooth=len(reel.poses) <= SMOOTH_FRAMES,
        frame_time=1.0 / reel.fps,
        engine=config.environment.godot_bin,
    ) as film:
        for frame in film.frames():
            yield np.split(frame, len(reel.cameras), axis=1)


def _mujoco_frames(
    reel: Reel, config: NavigationConfig, size: tuple[int, int], _rays: bool
) -> Iterator[list[Frame]]:
    """The views of each frame."""
    from ambulo.envs.vr.world.render import EpisodeRenderer

    character = None if reel.character is None else reel.character.name
    level, plans = reel.level, reel.plans
    goal = level.goal_place
    with EpisodeRenderer(
        level,
        *size,
        goal_radius=config.environment.goal_radius,
        character=character,
        eye_height=config.environment.eye_height,
    ) as renderer:
        moved = np.hypot(
            *np.diff(reel.poses[:, :2], axis=0, prepend=reel.poses[:1, :2]).T
        )
        steps = np.floor(np.cumsum(moved) / _TRAIL_STEP)
        kept = np.flatnonzero(np.diff(steps, prepend=-1.0))
        for t, pose in enumerate(reel.poses):
            trail = reel.poses[[*kept[kept < t], t], :3]
            yield [
                renderer.frame(
                    pose[:3],
                    float(pose[3]),
                    goal,
                    trail,
                    camera="top" if camera is None else camera[t],
                    qpos=None if reel.qpos is None else reel.qpos[t],
                    moving=None if reel.moving is None else reel.moving[t],
                    plan=None if plans is None else (plans.paths[t], plans.blocked[t]),
                )
                for camera in reel.cameras.values()
            ]
