import numpy as np

from ambulo.envs.vr.levels.level import Level
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
