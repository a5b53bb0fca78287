"""`ambulo playtest` in levels with heights, people and moving things: real runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ambulo.cli import main

TOWER = str(Path(__file__).parents[2] / "data" / "playtest" / "tower.json")


FLOORS = {
    "name": "floors", "bounds": [0, 0, 14, 8], "heights": True,
    "boxes": [{"center": [11, 4, 2.9], "half_size": [3, 4, 0.1]}],
    "stairs": [{"from": [3, 7, 0], "to": [8, 7, 3], "width": 1.8, "steps": 18}],
    "start": {"position": [8, 2]}, "goal": [12, 2, 3.0],
}  # fmt: skip
"""A start below a goal that stairs lead to."""


@pytest.mark.integration
def test_a_tower_beside_a_version_without_its_sealed_room(tmp_path):
    opened, out = tmp_path / "opened.json", tmp_path / "out"
    level = json.loads(Path(TOWER).read_text())
    level["boxes"] = [
        box for box in level["boxes"] if box["center"] != [7.5, 3.05, 4.3]
    ]
    opened.write_text(json.dumps(level))
    command = ["playtest", TOWER, "--compare", str(opened), "--agent", "oracle"]
    assert main([*command, "--agents", "15", "--out", str(out)]) == 1
    data = json.loads((out / "playtest.json").read_text())
    rows = json.loads((out / "journeys.json").read_text())
    [comparison] = data["comparisons"]
    assert comparison["common_journeys"] >= 9
    facts = {fact["name"]: fact for fact in comparison["facts"]}
    assert (facts["sealed_areas"]["ours"], facts["sealed_areas"]["other"]) == (1, 0)
    [level] = data["levels"]
    assert [p["kind"] for p in level["problems"] if p["fails"]] == ["sealed"]
    assert "z 3.0 m" in level["problems"][0]["text"]
    assert [floor["z"] for floor in level["floors"]] == [0, 3]
    assert all(0.1 < floor["coverage"] <= 1 for floor in level["floors"])
    assert level["metrics"]["success_rate"]["value"] == 1
    assert level["metrics"]["people_collisions"]["value"] is None
    assert {0.0, 3.0} <= {row["goal_z"] for row in rows}
    climbed = [row for row in rows if abs(row["goal_z"] - row["start_z"]) > 2.5]
    assert climbed
    assert all(abs(row["end_z"] - row["goal_z"]) < 0.6 for row in rows)
    presence = next(m for m in level["heat_maps"] if m["name"] == "presence")
    heights = {cell[2] for cell in presence["cells"]}
    assert min(heights) == 0
    assert max(heights) == 3
    assert any(0.5 < z < 2.5 for z in heights)  # on the stairs
    total = sum(cell[3] for cell in presence["cells"])
    assert total == pytest.approx(sum(row["time_s"] for row in rows), rel=1e-3)
    sealed = next(m for m in level["heat_maps"] if m["name"] == "unreachable")
    assert {cell[2] for cell in sealed["cells"]} == {3.0}
    assert level["warnings"] == []  # the oracle knows of heights
    assert level["problems"][0]["floor"] == "floor at 3.0 m"
    page = (out / "report.html").read_text()
    assert page.count("<img") == 7 + 2  # and the floors of the other version
    assert "Plan: what to look at, floor at 3.0 m" in page


@pytest.mark.integration
def test_agents_below_a_goal_upstairs_do_not_ask_for_a_wider_gap(tmp_path, capsys):
    level, out = tmp_path / "floors.json", tmp_path / "out"
    level.write_text(json.dumps(FLOORS))
    command = [
        "playtest",
        str(level),
        "--agents",
        "6",
        "--seconds",
        "20",
        "--agent",
        "straight",
    ]
    assert main([*command, "--out", str(out), "--no-report"]) == 1
    [data] = json.loads((out / "playtest.json").read_text())["levels"]
    said = capsys.readouterr().out
    [warning] = data["warnings"]
    assert said.startswith(f"warning: floors: {warning}")
    assert "read no heights" in warning
    [stuck] = [p for p in data["problems"] if p["kind"] == "stuck"]
    assert "z 0.0 m" in stuck["text"]
    assert "z 0.0 m" in said
    assert stuck["floor"] == data["stuck_spots"][0]["floor"] == "floor at 0.0 m"
    assert "goal at z 3.0 m" in stuck["advice"]
    assert "iden" not in stuck["advice"]


@pytest.mark.slow
def test_bodies_with_legs_walk_below_a_goal_upstairs(tmp_path, capsys):
    level, out = tmp_path / "floors.json", tmp_path / "out"
    level.write_text(json.dumps(FLOORS))
    command = ["playtest", str(level), "--agents", "3", "--seconds", "20"]
    assert main([*command, "--agent", "embodied_navigation", "--out", str(out)]) == 1
    [data] = json.loads((out / "playtest.json").read_text())["levels"]
    rows = json.loads((out / "journeys.json").read_text())
    assert {(row["start_z"], row["goal_z"]) for row in rows} == {(0, 0)}
    assert "ground floor alone" in data["warnings"][0]
    [problem] = [p for p in data["problems"] if p["fails"]]
    assert problem["text"].startswith("'goal' of the level file cannot be reached")
    said = capsys.readouterr().out
    [legs] = [line for line in said.splitlines() if "with legs (1.75 m)" in line]
    assert "z 3.0 m), goal" in legs
