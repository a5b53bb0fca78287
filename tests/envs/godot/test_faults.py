"""Engines that are killed, hang, come back, lie or never were: caused for real."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
from pathlib import Path

import numpy as np
import pytest

from ambulo.configs.errors import BridgeError
from ambulo.configs.vr import NavigationConfig
from ambulo.envs.godot import fleet as fleet_module
from ambulo.envs.godot.client import GodotClient
from ambulo.envs.godot.engine import EngineProcess
from ambulo.envs.godot.errors import VersionMismatch
from ambulo.envs.godot.locate import find_project
from ambulo.envs.godot.world import GodotWorld
from ambulo.envs.vr.families import generate
from ambulo.envs.vr.levels.level import Level
from ambulo.envs.vr.task.bank import LevelBank
from ambulo.envs.vr.task.batch import NavigationBatch

EMPTY = Level("empty", np.array([-50.0, -50.0, 50.0, 50.0]))
AHEAD = np.array([[0.0, 1.0, 0.0]])


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch) -> None:
    monkeypatch.setattr(fleet_module, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(fleet_module, "LONGEST_PAUSE", 0.05)


def exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def walk(world: GodotWorld, steps: int = 1) -> None:
    for _ in range(steps):
        world.step(np.repeat(AHEAD, len(world.state.yaw), axis=0))


def test_a_killed_engine_loses_one_decision_and_is_replaced(make, kill, caplog) -> None:
    world = make(4, engines=2)
    walk(world, 5)
    before = world.state_dict()
    first, second = world.pids
    kill(first, signal.SIGKILL)
    walk(world)
    np.testing.assert_array_equal(world.state.fault, [True, True, False, False])
    for name in ("position", "yaw", "velocity", "rays", "command"):
        now = getattr(world.state, name)
        np.testing.assert_array_equal(now[:2], before[name][:2])
    assert (world.state.path[:2] == 0.0).all()
    assert (world.state.position[2:, 0] > before["position"][2:, 0]).all()
    assert world.faults == {"died": 1}
    assert re.search(r"Godot engine 0: .*SIGKILL.*2 envs lost", caplog.text)
    assert not exists(first)

    walk(world)  # not reset: envs go on from where they were
    assert not world.state.fault.any()
    assert (world.state.position[:2, 0] > before["position"][:2, 0]).all()
    assert world.pids[0] != first
    assert world.pids[1] == second
    world.reset(np.array([0]), np.array([0]), np.array([[1.0, 2.0, 0.5]]))
    np.testing.assert_array_equal(world.state.position[0], [1.0, 2.0, 0.0])
    assert world.faults.total() == 1


def test_a_death_before_a_reset_is_mended_by_the_reset(make, kill) -> None:
    world = make(2)
    walk(world, 3)
    expected = world.state.position[1].copy()
    kill(world.pids[0], signal.SIGKILL)
    world.reset(np.array([0]), np.array([0]), np.zeros((1, 3)))
    assert not world.state.fault.any()
    assert world.faults == {"died": 1}
    np.testing.assert_array_equal(world.state.position[1], expected)
    walk(world)
    assert not world.state.fault.any()


def test_a_hung_engine_is_ended_and_replaced(make, kill) -> None:
    world = make(2, timeout=2.0)
    walk(world)
    hung = world.pids[0]
    kill(hung, signal.SIGSTOP)
    walk(world)
    assert world.state.fault.all()
    assert world.faults == {"timeout": 1}
    assert not exists(hung)
    walk(world)
    assert not world.state.fault.any()


def test_a_slow_engine_is_waited_for(make, kill) -> None:
    world = make(2, timeout=20.0)
    pid = world.pids[0]
    kill(pid, signal.SIGSTOP)
    timer = threading.Timer(0.5, os.kill, (pid, signal.SIGCONT))
    timer.start()
    walk(world)
    timer.join()
    assert not world.state.fault.any()
    assert not world.faults


def truncated(answer: bytes) -> bytes:
    return answer[: len(answer) - 20]


def without_answer(answer: bytes) -> bytes:
    return b""


def not_finite(answer: bytes) -> bytes:
    return answer[:-8] + np.array([np.nan]).tobytes()


def wrong_magic(answer: bytes) -> bytes:
    return answer.replace(b"AMB1", b"AMB2")


def fewer_rows(answer: bytes) -> bytes:
    head, _, body = answer.partition(b"\r\n\r\n")
    head = re.sub(rb"(?i)(content-length: )\d+", rb"\g<1>24", head)
    return head + b"\r\n\r\n" + body[:24]


def html(answer: bytes) -> bytes:
    return (
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Type: text/html\r\n\r\n<html>"
    )


def noise(answer: bytes) -> bytes:
    return bytes(range(256)) * 40


def server_error(answer: bytes) -> bytes:
    body = b'{"error": {"code": "internal", "message": "broken", "field": null}}'
    head = b"HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\n"
    return head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        (truncated, "closed"),
        (without_answer, "closed"),
        (not_finite, "malformed"),
        (wrong_magic, "malformed"),
        (fewer_rows, "malformed"),
        (html, "malformed"),
        (noise, "malformed"),
        (server_error, "status"),
        (lambda answer: None, "timeout"),
    ],
)
def test_a_spoilt_answer_is_one_fault(make, proxy, how, kind) -> None:
    world = make(2, url=proxy.url, timeout=2.0 if kind == "timeout" else 10.0)
    walk(world, 3)
    before = world.state.position.copy()
    proxy.break_next("/rl/step", how)
    walk(world)
    assert world.state.fault.all()
    assert world.faults == {kind: 1}
    np.testing.assert_array_equal(world.state.position, before)
    walk(world)
    assert not world.state.fault.any()
    for array in world.state.arrays().values():
        assert np.isfinite(array).all()
    # The engine made the decision that was lost; the state of Python counts.
    assert (world.state.position[:, 0] - before[:, 0] < 0.25).all()


@pytest.mark.parametrize("path", ["/rl/spec", "/rl/levels", "/rl/reset", "/rl/state"])
@pytest.mark.parametrize("how", [truncated, server_error, noise])
def test_faults_while_envs_are_placed_are_mended_there(make, proxy, path, how) -> None:
    world = make(2, url=proxy.url)
    walk(world)
    stays = world.state.position[1].copy()
    world._links[0].invalidate()  # as after a restart
    proxy.break_next(path, how)
    world.set_levels([1], [Level("other", EMPTY.bounds)])
    world.reset(np.array([0]), np.array([1]), np.array([[3.0, 0.0, 0.0]]))
    assert proxy.broken == 1
    assert world.faults.total() == 1
    assert not world.state.fault.any()
    assert world.state.position[0, 0] == 3.0
    np.testing.assert_array_equal(world.state.position[1], stays)


def test_after_too_many_faults_there_is_one_clear_error(make, proxy, caplog) -> None:
    world = make(1, url=proxy.url, max_failures=3)
    proxy.break_next("/rl/step", server_error, forever=True)
    walk(world, 2)
    assert world.state.fault.all()
    with pytest.raises(
        BridgeError, match=r"failed 3 times in a row.*HTTP 500 internal: broken"
    ) as caught:
        walk(world)
    assert "\n" not in str(caught.value)
    assert world.faults == {"status": 3}
    assert caplog.text.count("fault 2 of at most 3 in a row") == 1


def test_a_decision_between_faults_starts_the_count_anew(make, proxy) -> None:
    world = make(1, url=proxy.url, max_failures=2)
    for _ in range(4):
        proxy.break_next("/rl/step", truncated)
        walk(world)
        assert world.state.fault.all()
        walk(world)
        assert not world.state.fault.any()
    assert world.faults == {"closed": 4}


def test_an_engine_that_always_dies_tells_its_last_words(
    program, make, kill, tmp_path
) -> None:
    flag, wrapper = tmp_path / "flag", tmp_path / "godot"
    wrapper.write_text(
        f"#!/bin/sh\n[ -e {flag} ] && {{ echo 'no luck today'; exit 4; }}\n"
        f'exec {program} "$@"\n'
    )
    wrapper.chmod(0o755)
    world = make(1, binary=str(wrapper), max_failures=3)
    flag.touch()
    kill(world.pids[0], signal.SIGKILL)
    walk(world, 2)
    assert world.state.fault.all()
    with pytest.raises(
        BridgeError, match=r"failed 3 times.*exit code 4.*engine-0\.log: no luck today"
    ):
        world.reset(np.array([0]), np.array([0]), np.zeros((1, 3)))
    assert world.faults == {"died": 3}
    assert world.pids == []


def test_another_version_is_named_and_not_tried_again(make, proxy) -> None:
    def older(answer: bytes) -> bytes:
        return re.sub(rb'("contract_version": ?)1', rb"\g<1>7", answer)

    proxy.break_next("/rl/spec", older, forever=True)
    with pytest.raises(VersionMismatch, match="contract_version 7, this package 1"):
        make(1, url=proxy.url)
    assert proxy.broken == 1


def test_another_state_layout_is_named(make, proxy) -> None:
    proxy.break_next(
        "/rl/spec", lambda answer: answer.replace(b'"yaw_rate"', b'"yaw_bits"')
    )
    with pytest.raises(VersionMismatch, match="yaw_bits"):
        make(1, url=proxy.url)


def test_somebody_else_at_the_engine_is_noticed(make, engine) -> None:
    url = f"http://127.0.0.1:{engine.port}"
    world = make(1, url=url)
    walk(world, 2)
    before = world.state.position.copy()
    with GodotClient(url) as stranger:
        stranger.step([[0.0, -1.0, 1.0]])
    walk(world)
    assert world.state.fault.all()
    np.testing.assert_array_equal(world.state.position, before)
    walk(world)
    assert not world.state.fault.any()
    assert world.state.yaw[0] == 0.0


def test_an_attached_game_may_be_restarted(program, make, tmp_path, kill) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with EngineProcess(program, find_project(), tmp_path / "a.log", port=port) as game:
        game.wait_until_ready()
        world = make(1, url=f"http://127.0.0.1:{port}", max_failures=9)
        walk(world, 2)
        at = world.state.position[0, 0]
        kill(game.pid, signal.SIGKILL)
        assert game.ending(30.0) == "SIGKILL"
        walk(world, 3)
        assert world.state.fault.all()
        assert world.faults == {"closed": 1, "refused": 2}
    with EngineProcess(program, find_project(), tmp_path / "b.log", port=port) as game:
        game.wait_until_ready()
        walk(world)
        assert not world.state.fault.any()
        assert world.state.position[0, 0] > at
        world.close()
        assert game.running


def test_nobody_at_the_url(make) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(BridgeError, match=f"Godot at http://127.0.0.1:{port}: cannot"):
        make(url=f"http://127.0.0.1:{port}")


def test_a_lost_episode_is_truncated_and_earns_nothing(make, kill) -> None:
    config = NavigationConfig().override("environment", max_episode_steps=8)
    levels = [generate("open", seed) for seed in range(2)]
    bank = LevelBank(levels, np.random.default_rng(0))
    world = make(2, place=False)
    batch = NavigationBatch(config, bank, world, num_envs=2)
    envs = np.arange(2)
    batch.reset(envs)
    for _ in range(7):
        obs, *_ = batch.step(np.repeat(AHEAD, 2, axis=0))
    last = obs.copy()
    kill(world.pids[0], signal.SIGKILL)
    obs, reward, terminated, truncated_, info = batch.step(np.repeat(AHEAD, 2, axis=0))
    assert batch.episode.steps.tolist() == [8, 8]  # the limit, but no timeout penalty
    assert info["bridge_fault"].all()
    assert truncated_.all()
    assert not terminated.any()
    assert not info["is_success"].any()
    assert (reward == 0.0).all()
    for name, values in info.items():
        if name.startswith("reward/"):
            assert (values == 0.0).all(), name
    assert np.isfinite(obs).all()
    np.testing.assert_array_equal(obs[:, :48], last[:, :48])
    batch.reset(envs)
    _, reward, _, truncated_, info = batch.step(np.repeat(AHEAD, 2, axis=0))
    assert not info["bridge_fault"].any()
    assert not truncated_.any()
    assert (reward != 0.0).all()
