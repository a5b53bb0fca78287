"""The IK network in the page poses as in Python, and targets are led by mouse and keyboard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SOLVE = """async rows => {
    const { page, forwardKinematics } = ambulo;
    const out = [];
    for (const row of rows) {
        const pose = await page.poseOf(row);
        out.push({ ...pose, ...forwardKinematics(page.rig, pose.root, pose.rotations) });
    }
    return out;
}"""


def test_poses_are_those_of_the_network_in_python(browser: Any) -> None:
    from ambulo.ik.pose import Pose, fk, start_pose
    from ambulo.ik.rig import TARGETS
    from ambulo.ik.solver.solver import load_solver
    from ambulo.ik.solver.targets import Targets

    solver = load_solver("ik_net")
    assert solver.network is not None
    rig, count, rows = solver.network.rig, 20, len(TARGETS)
    places, turns = fk(rig, start_pose(rig))
    rng = np.random.default_rng(0)
    positions = places[:, list(rig.effectors)] + rng.normal(
        scale=0.1, size=(count, rows, 3)
    )
    rotations = np.broadcast_to(turns[:, list(rig.effectors)], (count, rows, 4))
    weights = (rng.random((count, rows)) < 0.8).astype(float)
    weights[:, -2:] = 1.0
    turned = weights * (rng.random((count, rows)) < 0.5)
    pose: Pose = solver.network.predict(Targets(positions, rotations, weights, turned))
    given = [
        {
            "positions": positions[k].tolist(),
            "rotations": rotations[k].tolist(),
            "weights": weights[k].tolist(),
            "turns": turned[k].tolist(),
        }
        for k in range(count)
    ]
    with browser.open("ik") as page:
        found = page.evaluate(SOLVE, given)
    roots = np.array([row["root"] for row in found])
    np.testing.assert_allclose(roots, pose.root, rtol=0.0, atol=1e-5)
    joints = np.array([row["positions"] for row in found])
    np.testing.assert_allclose(joints, fk(rig, pose)[0], rtol=0.0, atol=2e-5)


def test_target_is_led_by_the_keyboard_and_by_the_mouse(browser: Any) -> None:
    with browser.open("ik") as page:
        before = page.evaluate("ambulo.page.places[0]")
        page.focus("#z")
        for _ in range(10):
            page.keyboard.press("ArrowUp")
        after = page.evaluate("ambulo.page.places[0]")
        assert after[2] == pytest.approx(before[2] + 0.1, abs=0.011)
        page.evaluate("ambulo.page.solving")
        assert float(page.inner_text("#miss").split()[0]) < 20.0
        place = page.evaluate(
            """() => {
            const { stage, view } = ambulo.page;
            const at = view.balls[4].position.clone().project(stage.camera);
            const box = stage.renderer.domElement.getBoundingClientRect();
            const x = box.left + (at.x + 1) * box.width / 2;
            return [x, box.top + (1 - at.y) * box.height / 2];
        }"""
        )
        head = page.evaluate("ambulo.page.places[4]")
        page.mouse.move(*place)
        page.mouse.down()
        page.mouse.move(place[0], place[1] + 30)
        page.mouse.up()
        assert page.evaluate("ambulo.page.places[4][2]") < head[2] - 0.02
        assert page.input_value("#target") == "4"
        page.uncheck("#on")
        assert page.evaluate("ambulo.page.weights[4]") == 0
        page.click("#reset")
        assert page.evaluate("ambulo.page.places[4]") == head
