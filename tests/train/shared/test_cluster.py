"""Workers on a real Ray cluster: of this machine, and of several node processes."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fixtures.jobs import deadly, draw, dying, failing, told

from ambulo.configs.errors import ConfigError
from ambulo.train.shared import cluster_guards
from ambulo.train.shared.cluster import Cluster, joined
from ambulo.train.shared.cluster_guards import (
    ClusterError,
    check_cluster,
    probe_port,
    showing_token,
)
from ambulo.train.shared.jobs import AHEAD, ATTEMPTS, JobError, Workers

pytestmark = pytest.mark.integration

RAY = Workers("ray", 2)


# First, while the cluster of this machine, which later ones share, is not there.


@pytest.mark.parametrize(
    "address", ["head", "head:", "head:99999", "ray://head:1", ":1"]
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(ConfigError, match="expected HOST:PORT"):
        probe_port(address)


def test_where_nothing_listens_is_an_error() -> None:
    with (
        pytest.raises(ClusterError, match=r"no cluster answers at 127.0.0.1:9 \(Conn"),
        joined(1, "127.0.0.1:9"),
    ):
        pass


def test_what_is_no_head_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    monkeypatch.setattr(cluster_guards, "PROBE_TIME", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(
            ClusterError, match=f"{address} does not answer as the head"
        ):
            check_cluster(address)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install ambulo\[ray\]"), joined(1):
        pass


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, places())))
        with joined(2) as made:
            yield made


def places() -> list[Path]:
    """Where Ambulo and the jobs of tests are imported from."""
    import ambulo

    return [Path(ambulo.__file__).parents[1], Path(__file__).parents[2]]


@pytest.mark.usefixtures("cluster")
def test_ray_gives_what_a_loop_gives(tmp_path: Path) -> None:
    alone = list(Workers().in_order(draw, 7, range(9)))
    np.testing.assert_array_equal(list(RAY.in_order(draw, 7, range(9))), alone)
    # A worker that is killed, errors of jobs, and a slow consumer, as with processes.
    assert list(RAY.in_order(dying, str(tmp_path), range(6))) == list(range(6))
    assert (tmp_path / "died").exists()
    with pytest.raises(JobError, match=r"^job 1: its feet are missing$"):
        list(RAY.in_order(failing, "known", range(3)))
    with pytest.raises(JobError, match="job clip1: TypeError: two feet wanted"):
        list(RAY.in_order(failing, "", range(3), lambda job: f"clip{job}"))


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux")
@pytest.mark.usefixtures("cluster")
def test_a_cluster_of_this_machine_listens_on_loopback_alone() -> None:
    places = [addresses_of(pid) for pid, _ in cluster_guards._descendants()]
    places.append(addresses_of(os.getpid()))
    assert sum(map(len, places)) > 3  # driver, GCS, raylet and its agent
    loopback = {"0100007F", "0000000000000000FFFF00000100007F"}
    assert {each for place in places for each in place} <= loopback
    assert "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER" not in os.environ


def addresses_of(pid: int) -> list[str]:
    """Addresses that a process listens on, in the hexadecimal of /proc/net/tcp."""
    listening = {}
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A":
                listening[f"socket:[{words[9]}]"] = words[1].partition(":")[0]
    found = []
    with contextlib.suppress(OSError):  # it has ended
        for entry in Path("/proc", str(pid), "fd").iterdir():
            with contextlib.suppress(OSError):
                found.append(listening.get(os.readlink(entry), ""))
    return [address for address in found if address]


@pytest.mark.usefixtures("cluster")
def test_a_slow_consumer_stops_the_actors(tmp_path: Path) -> None:
    results = RAY.as_done(told, str(tmp_path), iter(range(100)))
    for given in range(1, 4):
        next(results)
        time.sleep(0.2)
        assert len(list(tmp_path.iterdir())) <= given + 2 * AHEAD
    results.close()  # type: ignore[attr-defined]


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_job_that_kills_its_actors_is_given_up() -> None:
    with pytest.raises(JobError, match=f"job 1: its worker died {ATTEMPTS} times"):
        list(RAY.in_order(deadly, None, range(3)))


@pytest.mark.usefixtures("cluster")
def test_what_workers_cannot_see_is_named(tmp_path: Path) -> None:
    workers = Workers("ray", 1, needs=(tmp_path / "none",))
    with pytest.raises(
        ConfigError, match=r"does not see .*none: the files of jobs must"
    ):
        list(workers.in_order(draw, 7, range(2)))
    with RAY.sharing(tmp_path / "out") as sharing:
        assert sharing.needs[0].exists()
        np.testing.assert_array_equal(next(sharing.in_order(draw, 7, [4])), draw(7, 4))
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.usefixtures("cluster")
def test_more_workers_than_cpus_are_refused() -> None:
    with pytest.raises(
        ConfigError, match="4000 workers need 4000 CPUs, and the cluster"
    ):
        list(Workers("ray", 4000).in_order(draw, 7, range(2)))


# A cluster of several node processes.


TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4}
"""What all machines of a cluster know."""


class Nodes:
    """Node processes of one cluster, each started by the command of Ray."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.port = server.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.folder = folder
        self.nodes: list[subprocess.Popen[bytes]] = []

    def start(self, *words: str, python: str = sys.executable, **env: str) -> None:
        """Start a node: the head first."""
        where = f"--address={self.address}" if self.nodes else f"--port={self.port}"
        command = [
            *words, python, "-m", "ray.scripts.scripts", "start", where, "--block",
            "--num-cpus=2", "--disable-usage-stats",
        ]  # fmt: skip
        if not self.nodes:
            command += ["--head", "--include-dashboard=false"]
        paths = os.pathsep.join(map(str, places()))
        with (self.folder / f"node{len(self.nodes)}").open("wb") as said:
            node = subprocess.Popen(
                command, start_new_session=True, stdout=said, stderr=said, cwd="/",
                env=os.environ | TOKEN | {"PYTHONPATH": paths} | env,
            )  # fmt: skip
        self.nodes.append(node)
        deadline = time.monotonic() + 60.0
        while b"block forever" not in self.said() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert node.poll() is None, self.said()

    def said(self) -> bytes:
        """What the last node said."""
        return (self.folder / f"node{len(self.nodes) - 1}").read_bytes()

    def close(self) -> None:
        """End all nodes, the head last."""
        for node in reversed(self.nodes):
            node.terminate()
            node.wait(30.0)


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    pytest.importorskip("ray")
    made = Nodes(tmp_path)
    yield made
    made.close()


PROGRAM = """
import sys
from pathlib import Path
sys.path[:0] = {paths}
import ambulo
from fixtures.jobs import draw
from ambulo.common.errors import cli_entry_point
from ambulo.train.shared.jobs import Workers
del sys.path[: len({paths})]

def main(argv):
    with Workers("ray", 2, argv[0]).sharing(Path(argv[2])) as workers:
        for result in workers.in_order(draw, 7, range(int(argv[1]))):
            print(result[0], flush=True)

if __name__ == "__main__":
    sys.exit(cli_entry_point(main)())
"""


def program(
    nodes: Nodes, jobs: int, paths: bool = True, **env: str
) -> subprocess.Popen[str]:
    """A program that joins a cluster; without `paths`, nodes must have Ambulo themselves."""
    found = list(map(str, places()))
    file = nodes.folder / "program.py"
    file.write_text(PROGRAM.format(paths=found))
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if paths:
        clean["PYTHONPATH"] = os.pathsep.join(found)
    return subprocess.Popen(
        [sys.executable, str(file), nodes.address, str(jobs), str(nodes.folder / "shared")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean | TOKEN | env,
    )  # fmt: skip


def error_of(process: subprocess.Popen[str]) -> str:
    """The one line of a program that fails."""
    _, said = process.communicate(timeout=90.0)
    assert process.returncode == 2, said
    assert len(said.splitlines()) == 1, said
    return said


@pytest.mark.slow
def test_several_nodes_and_a_head_that_dies(nodes: Nodes) -> None:
    nodes.start()
    nodes.start()
    out, _ = program(nodes, 9).communicate(timeout=90.0)
    assert out.split() == [str(draw(7, job)[0]) for job in range(9)]
    # The token of another cluster.
    assert "does not take this machine's token" in error_of(
        program(nodes, 9, RAY_AUTH_TOKEN="x" * 40)
    )
    process = program(nodes, 10**9)
    assert process.stdout is not None
    process.stdout.readline()
    for node in nodes.nodes:
        os.killpg(node.pid, signal.SIGKILL)
    _, said = process.communicate(timeout=90.0)
    assert process.returncode == 2
    assert "is gone: Connection refused" in said.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.parametrize("version", ["", "0.0.1"])
def test_a_node_with_another_ambulo_is_named(
    nodes: Nodes, tmp_path: Path, version: str
) -> None:
    import ray

    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "v")], check=True
    )
    place = next((tmp_path / "v").rglob("site-packages"))
    # Ray, but not what .pth files of that folder add.
    (place / "ray.pth").write_text(str(Path(ray.__file__).parents[1]))
    if version:
        (place / "ambulo").mkdir()
        (place / "ambulo" / "__init__.py").write_text(f'__version__ = "{version}"')
    nodes.start(PYTHONPATH="")
    nodes.start(python=str(tmp_path / "v" / "bin" / "python"), PYTHONPATH="")
    said = error_of(program(nodes, 9, paths=False))
    words = f"has Ambulo {version} and Python" if version else "has no Ambulo: install"
    assert words in said


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="hides a folder by a mount")
def test_a_folder_that_a_node_does_not_see_is_named(
    nodes: Nodes, tmp_path: Path
) -> None:
    if os.geteuid() != 0:
        pytest.skip("hiding a folder from a process needs root")
    shared = tmp_path / "shared"
    shared.mkdir()
    hide = f'mount -t tmpfs none {shared} && exec "$@"'
    nodes.start("unshare", "-m", "sh", "-c", hide, "sh")
    said = error_of(program(nodes, 4))
    assert f"does not see {shared}" in said
    assert not list(shared.iterdir())


def test_a_token_is_shown_to_named_clusters_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a later cluster of this program asks for what its driver does not show."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    with showing_token():
        assert "RAY_AUTH_MODE" not in os.environ
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("secret")
    with showing_token():
        assert os.environ["RAY_AUTH_MODE"] == "token"
    assert "RAY_AUTH_MODE" not in os.environ
