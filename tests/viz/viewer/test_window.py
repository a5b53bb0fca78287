import socket
import urllib.error
import urllib.request

import pytest
from fixtures.viewer import connected

from ambulo.configs.errors import ConfigError
from ambulo.viz.viewer.window import checked_port, inner_path, refusal


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


@pytest.mark.parametrize(
    ("path", "inner"),
    [
        ("/s3cret", "/"),
        ("/s3cret/", "/"),
        ("/s3cret?websocket=ws://localhost:80/s3cret", "/?websocket=ws://localhost:80/s3cret"),
        ("/s3cret/index.html", "/index.html"),
        ("/", None),
        ("/s3cre", None),
        ("/s3cretx", None),
        ("/?s3cret", None),
        ("//s3cret", None),
        ("/s3cr\udce9t", None),
    ],
)  # fmt: skip
def test_only_addresses_with_the_token_are_answered(
    path: str, inner: str | None
) -> None:
    assert inner_path(path, "s3cret") == inner


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
    from websockets.exceptions import InvalidStatus

    from ambulo.viz.viewer.window import open_server, stop_server

    server = open_server(0, "test")
    try:
        host = f"127.0.0.1:{server.get_port()}"
        token = server.address.rpartition("/")[2]
        assert len(token) >= 20
        assert server.address == f"http://localhost:{server.get_port()}/{token}"
        with urllib.request.urlopen(f"http://{host}/{token}") as page:
            assert page.status == 200
        for address, headers in (
            (f"http://{host}/{token}", {"Host": "evil.example"}),
            (f"http://{host}/", {}),
        ):
            foreign = urllib.request.Request(address, headers=headers)
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(foreign)
        for wrong in ({"origin": "https://evil.example"}, {"path": ""}):
            with pytest.raises(InvalidStatus):
                connected(server, **wrong)
        with connected(server) as own:
            assert own.recv(timeout=30)
    finally:
        stop_server(server)
