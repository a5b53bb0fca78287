import socket
import urllib.error
import urllib.request

import pytest

from ambulo.configs.errors import ConfigError
from ambulo.viz.viewer.window import checked_port, refusal


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({"Host": "localhost:80"}, False),
        ({"Host": "127.0.0.1:80", "Origin": "http://127.0.0.1:80"}, False),
        ({"Host": "localhost:80", "Origin": "http://localhost:80"}, False),
        ({"Host": "localhost:80", "Origin": "http://localhost:81"}, True),
        ({"Host": "localhost:80", "Origin": "https://evil.example"}, True),
        ({"Host": "localhost:80", "Origin": "null"}, True),
        ({"Host": "evil.example:80"}, True),
        ({"Host": "localhost"}, True),
        ({}, True),
    ],
)
def test_only_pages_of_this_server_are_answered(
    headers: dict[str, str], refused: bool
) -> None:
    assert (refusal(headers, 80) is not None) == refused


def test_ports() -> None:
    assert checked_port(0) > 0
    with pytest.raises(ConfigError, match="must be 0 to 65535"):
        checked_port(70000)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"--port {port}: cannot be bound"):
            checked_port(port)


def test_a_server_refuses_other_pages_before_a_handshake() -> None:
    pytest.importorskip("viser", reason="needs ambulo[viewer]")
    import viser
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect
    from websockets.typing import Origin, Subprotocol

    from ambulo.viz.viewer.window import open_server, stop_server

    server = open_server(0, "test")
    try:
        host = f"127.0.0.1:{server.get_port()}"
        with urllib.request.urlopen(f"http://{host}/") as page:
            assert page.status == 200
        foreign = urllib.request.Request(
            f"http://{host}/", headers={"Host": "evil.example"}
        )
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(foreign)
        protocol = [Subprotocol(f"viser-v{viser.__version__}")]
        url = f"ws://{host}/"
        with pytest.raises(InvalidStatus):
            connect(url, origin=Origin("https://evil.example"), subprotocols=protocol)
        with connect(
            url, origin=Origin(f"http://{host}"), subprotocols=protocol
        ) as own:
            assert own.recv(timeout=30)
    finally:
        stop_server(server)
