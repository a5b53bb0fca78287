import numpy as np
from matplotlib.collections import PolyCollection

from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.levels.level_io import parse_level
from ambulo.viz.map_moving import moving_handles
from ambulo.viz.map_plot import draw_level_map

LEVEL = Level(
    "small",
    np.array([-4.0, -4.0, 4.0, 4.0]),
    holes=np.array([[1.0, 1.0, 2.0, 3.0], [1.5, 2.0, 5.0, 3.5]]),
    boxes=np.array([[-2.0, 2.0, 0.5, 0.4, 0.4, 0.5, 0.3]]),
    cylinders=np.array([[-2.0, -2.0, 0.4, 1.0]]),
    start=np.array([0.0, 0.0, 0.5]),
    goal=np.array([3.0, -3.0]),
)


def test_map_has_every_shape():
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    draw_level_map(ax, LEVEL)
    assert len(ax.patches) == 1 + 2 + 1 + 1 + 2


def axes_of(level: Level, *, muted: bool = False):
    """Axes with the map of `level`."""
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    draw_level_map(ax, level, muted=muted)
    ax.figure.canvas.draw()
    return ax


def test_what_hangs_overhead_is_a_dashed_outline():
    boxes = np.array([[0, 0, 1.85, 1, 1, 0.1, 0], [2, 2, 1.8, 1, 1, 0.1, 0]], float)
    drums = np.array([[-2, 0, 0.5, 0.3, 1.8], [-2, 2, 0.5, 0.3, 1.0]])
    _, *shapes = axes_of(Level("x", BOUNDS, boxes=boxes, cylinders=drums)).patches
    assert [patch.get_fill() for patch in shapes] == [False, True, False, True]
    assert [patch.get_linestyle() for patch in shapes] == ["--", "solid"] * 2


BOUNDS = np.array([-4.0, -4.0, 4.0, 4.0])
HIGH = {
    "name": "high",
    "bounds": BOUNDS.tolist(),
    "heights": True,
    "holes": [[-4, -4, -3, -3]],
    "ramps": [{"from": [-3, 0, 0], "to": [0, 0, 2], "width": 1}],
    "stairs": [{"from": [-3, 2, 0], "to": [0, 2, 2], "width": 1, "steps": 8}],
    "boxes": [
        {"center": [1, 1, 1.9], "half_size": [1, 2, 0.1]},
        {"center": [1, 1, 0.4], "half_size": [0.3, 0.3, 0.4]},
    ],
    "heightfields": [
        {"origin": [1, -3, 0], "cell": 1, "heights": [[0, 1, 0], [0, 3, 1]]}
    ],
    "meshes": [
        {"vertices": [[-2, -2, 0], [0, -2, 0], [0, -3, 1]], "triangles": [[0, 1, 2]]}
    ],
}


def test_levels_with_heights_are_shaded_by_them():
    ax = axes_of(parse_level(HIGH, "x", solvable=False))
    assert len(ax.patches) == 1 + 1  # the floor and the hole
    layers = [c for c in ax.collections if isinstance(c, PolyCollection)]
    layers.sort(key=lambda layer: layer.get_zorder())
    # 16 strips of the ramp, 8 steps, 2 boxes; the upper floor is drawn after the table.
    assert sum(len(layer.get_paths()) for layer in layers) == 16 + 8 + 2
    colours = np.concatenate([layer.get_facecolors() for layer in layers])
    brightness = colours[:, :3].sum(axis=1)
    assert (np.diff(brightness) <= 1e-9).all(), "higher is darker"
    assert (colours[:, 3] < 1).sum() == 1, "the upper floor lets see what is below"
    kinds = {type(c).__name__ for c in ax.collections}
    assert {"QuadMesh", "TriMesh"} <= kinds  # terrain, mesh
    texts = [t.get_text() for t in ax.texts]
    assert texts.count("") == 2  # arrows up the ramp and the stairs
    assert {"0", "3", "height [m]"} <= set(texts)


def test_a_mesh_above_a_floor_box_is_drawn_above_it():
    """As in imported scenes: the floor is a box, the balcony above it a mesh."""
    corners = [[0, 0, 2], [2, 0, 2], [0, 2, 2]]
    data = {
        "name": "balcony",
        "bounds": BOUNDS.tolist(),
        "heights": True,
        "ground": False,
        "boxes": [{"center": [0, 0, -0.5], "half_size": [4, 4, 0.5]}],
        "meshes": [{"vertices": corners, "triangles": [[0, 1, 2]]}],
    }
    level = parse_level(data, "x", solvable=False)
    for muted in (False, True):
        ax = axes_of(level, muted=muted)
        order = {type(c).__name__: c.get_zorder() for c in ax.collections}
        assert order["TriMesh"] > order["PolyCollection"], f"muted: {muted}"


def test_what_moves_is_drawn_and_named():
    """A door stands where it begins, a lift has a cross, people have ways."""
    lift = [[0, -3, 0, 0.1, 0], [2, -3, 0, 0.1, 0], [6, -3, 0, 2, 0], [8, -3, 0, 2, 0]]
    moving = {
        "movers": [
            {"kind": "door", "hinge": [1, 2, 0], "width": 1, "open": 1.6},
            {"kind": "lift", "half_size": [0.6, 0.6, 0.1], "path": lift},
        ],
        "people": {
            "count": 2,
            "goals": [[3, 3, 0], [3, -3, 0]],
            "walkers": [{"route": [[-2, 1, 0], [2, 1, 0]], "speed": 1}],
        },
    }
    data = {"name": "m", "bounds": BOUNDS.tolist(), "heights": True, **moving}
    level = parse_level(data, "x", solvable=False)
    ax = axes_of(level)
    begins = next(c for c in ax.collections if c.get_alpha() is not None)
    door, platform = (path.vertices[:4] for path in begins.get_paths())
    np.testing.assert_allclose(np.ptp(door, axis=0), [1, 0.06], atol=1e-6)
    np.testing.assert_allclose(door.mean(axis=0), [1.5, 2], atol=1e-6)
    np.testing.assert_allclose(platform.mean(axis=0), [-3, 0], atol=1e-6)
    styles = [line.get_linestyle() for line in ax.lines]
    assert styles.count(":") == 1
    assert styles.count("-") == 2, "the cross of the lift"
    assert [handle.get_label() for handle in moving_handles([level, LEVEL])] == [
        "moving obstacle, and its path",
        "lift",
        "path of a person",
        "goals of a crowd",
    ]
    assert moving_handles([LEVEL]) == []
