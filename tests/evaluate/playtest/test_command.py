"""`ambulo playtest`: real runs, exit codes, files, and misuse."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ambulo.cli import main
from ambulo.configs.errors import ConfigError
from ambulo.envs.vr.levels.level_io import load_levels
from ambulo.evaluate.playtest.flags import PlaytestFlags
from ambulo.evaluate.playtest.playing import make_walker
from ambulo.evaluate.playtest.problems import find_problems
from ambulo.evaluate.playtest.result import Playtest, playtest_level

LEVELS = Path(__file__).parents[2] / "data" / "playtest"
SEALED = str(LEVELS / "apartment_sealed_bathroom.json")
LINKS = ("http://", "https://", 'src="/', "href=")


def wall(x0: float, y0: float, x1: float, y1: float) -> dict[str, list[float]]:
    return {
        "center": [(x0 + x1) / 2, (y0 + y1) / 2, 1.0],
        "half_size": [(x1 - x0) / 2, (y1 - y0) / 2, 1.0],
    }


def write(path: Path, **more) -> str:
    """A level file: a hall of 12 x 8 m."""
    path.write_text(json.dumps({"name": path.stem, "bounds": [0, 0, 12, 8], **more}))
    return str(path)


@pytest.fixture
def trap(tmp_path) -> str:
    """A U of walls between start and goal, open to the start."""
    walls = [wall(7, 2, 7.2, 6), wall(4, 1.8, 7.2, 2), wall(4, 6, 7.2, 6.2)]
    return write(
        tmp_path / "trap.json", boxes=walls, start={"position": [5, 4]}, goal=[10, 4]
    )


def played(folder: Path) -> dict:
    return json.loads((folder / "playtest.json").read_text())


@pytest.mark.integration
def test_a_sealed_bathroom_fails_and_is_in_every_file(tmp_path, capsys):
    out = tmp_path / "out"
    code = main(
        ["playtest", SEALED, "--agent", "oracle", "--agents", "12", "--out", str(out)]
    )
    assert code == 1
    data = played(out)
    assert (data["format"], data["version"], data["passed"]) == (
        "ambulo-playtest",
        1,
        False,
    )
    [level] = data["levels"]
    [sealed] = [area for area in level["areas"] if area["kind"] == "sealed"]
    assert sealed["area_m2"] == pytest.approx(4.4, abs=0.3)
    assert [p["kind"] for p in level["problems"] if p["fails"]] == ["sealed"]
    assert level["metrics"]["success_rate"]["value"] == 1
    for heat_map in level["heat_maps"]:
        assert all(len(cell) == 4 and cell[2] == 0 for cell in heat_map["cells"])
    marked = next(m for m in level["heat_maps"] if m["name"] == "unreachable")
    assert {cell[3] for cell in marked["cells"]} == {0, 1}
    rows = json.loads((out / "journeys.json").read_text())
    with (out / "journeys.csv").open() as file:
        table = list(csv.DictReader(file))
    assert len(rows) == len(table) == 12
    assert list(rows[0]) == list(table[0])
    assert all(row["time_s"] >= 0.5 * row["ideal_time_s"] for row in rows)
    page = (out / "report.html").read_text()
    assert "Sealed area A" in page
    assert not any(link in page for link in LINKS)
    said = capsys.readouterr().out
    assert "PROBLEM: Sealed area A" in said
    [bodies] = level["bodies"]
    names = ["standing", "seated", "child", "with legs"]
    assert [body["name"] for body in bodies["bodies"]] == names
    assert [part["mark"] for part in bodies["unreachable"]] == ["A", "B"]
    assert bodies["unreachable"][0]["area_m2"] == sealed["area_m2"]
    for text in ("child (1.20 m)", "with legs: no ramps, steps, lifts"):
        assert text in said
        assert text in page


def test_agents_of_another_eye_height_have_a_body_of_it():
    small = PlaytestFlags(levels=SEALED, agent="oracle", eye_height=0.8)
    assert make_walker(small).spec.body_height == 0.875
    with pytest.raises(ConfigError, match=r"eye_height = 9\.0"):
        make_walker(replace(small, eye_height=9.0))


def walked(file: str, agent: str, **settings: Any) -> Playtest:
    """The play-test of a level without a report."""
    [level] = load_levels(file, solvable=False)
    flags = PlaytestFlags(levels=file, agent=agent, **settings)
    return playtest_level(level, make_walker(flags), flags)


@pytest.mark.integration
def test_sealed_areas_that_are_meant_are_allowed():
    found = walked(SEALED, "oracle", agents=4)
    for allowed in (0, 1):
        flags = replace(found.flags, max_sealed=allowed)
        problems = find_problems(replace(found, flags=flags))
        [sealed] = [problem for problem in problems if problem.kind == "sealed"]
        assert sealed.fails == (allowed == 0)
        assert any(problem.fails for problem in problems) == sealed.fails


def test_a_trap_stops_who_walks_straight(trap, tmp_path, capsys):
    found = walked(trap, "straight", agents=10, seconds=12)
    [spot] = found.spots
    assert spot.failures == spot.agents == 10
    assert spot.position[0] == pytest.approx(6.7, abs=0.4)
    problems = find_problems(found)
    assert [p.kind for p in problems if p.fails] == ["success", "stuck"]
    loose = ["--min-success", "0", "--max-stuck", "1", "--max-sealed", "0"]
    common = ["playtest", trap, "--agent", "straight", "--agents", "10"]
    out = ["--seconds", "12", "--out", str(tmp_path / "out"), "--no-report"]
    assert main([*common, *loose, *out]) == 0
    numbers = tmp_path / "out" / "playtest.json"
    assert capsys.readouterr().out.endswith(f"numbers: {numbers}\n")
    assert not (tmp_path / "out" / "report.html").exists()
    assert played(tmp_path / "out")["limits"]["max_stuck"] == 1


def test_own_starts_are_jittered_and_the_shipped_agent_walks(trap, tmp_path):
    out = ["--out", str(tmp_path / "a"), "--no-report"]
    code = main(["playtest", trap, "--agents", "6", *out])
    assert code in (0, 1)
    rows = json.loads((tmp_path / "a" / "journeys.json").read_text())
    starts = {(row["start_x"], row["start_y"]) for row in rows}
    assert len(starts) == 6
    assert all(abs(x - 5) <= 0.5 for x, _ in starts)
    assert {(row["goal_x"], row["goal_y"]) for row in rows} == {(10.0, 4.0)}


def test_a_goal_that_cannot_be_reached_is_a_problem_not_bad_input(tmp_path):
    level = write(
        tmp_path / "shut.json", boxes=[wall(8, 0, 8.2, 8)],
        start={"position": [2, 4]}, goal=[10, 4],
    )  # fmt: skip
    problems = find_problems(walked(level, "oracle", agents=4))
    assert [p.kind for p in problems] == ["place", "sealed"]
    assert all(p.fails for p in problems)


@pytest.mark.integration
def test_two_versions_are_compared_on_common_journeys(tmp_path, capsys):
    out = tmp_path / "out"
    code = main(
        ["playtest", str(LEVELS / "apartment.json"), "--compare", SEALED, "--agent", "oracle",
         "--agents", "16", "--out", str(out), "--no-report"]
    )  # fmt: skip
    assert code == 0
    [comparison] = played(out)["comparisons"]
    assert 8 <= comparison["common_journeys"] < 16
    facts = {fact["name"]: fact for fact in comparison["facts"]}
    assert (facts["sealed_areas"]["ours"], facts["sealed_areas"]["other"]) == (0, 1)
    rows = {row["measure"]: row for row in comparison["differences"]}
    low, high = rows["time_s"]["low"], rows["time_s"]["high"]
    assert low <= rows["time_s"]["difference"] <= high
    assert rows["success_rate"]["verdict"] == "no clear difference"
    assert "journeys in common" in capsys.readouterr().out


@pytest.mark.integration
def test_who_knows_the_level_leaves_a_trap_with_the_same_numbers_and_a_report_stays(
    trap, tmp_path
):
    out = tmp_path / "o"
    common = ["playtest", trap, "--agent", "oracle", "--agents", "5", "--seconds", "12"]
    for _ in range(2):
        assert main([*common, "--no-report", "--out", str(out)]) == 0
    first, again = (played(f)["levels"] for f in (out, out / "playtest_2"))
    assert first == again


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ({"bounds": [0, 0, 1, 1]}, "no two reachable places"),
        ({"bounds": [0, 0, 0.3, 0.3]}, "no free floor"),
        (
            {"boxes": [{"center": [1, 1, 1], "half_size": [0, 1, 1]}]},
            "boxes[0].half_size",
        ),
        ({"start": {"position": [99, 0]}}, "start.position: out of bounds"),
    ],
)
def test_bad_levels_are_named(level, message, tmp_path, capsys):
    file = tmp_path / "bad.json"
    file.write_text(json.dumps({"name": "bad", "bounds": [0, 0, 12, 8], **level}))
    out = tmp_path / "out"
    code = main(
        ["playtest", str(file), "--agent", "oracle", "--agents", "2", "--out", str(out)]
    )
    assert code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
    assert "bad" in error
    assert not out.exists()
