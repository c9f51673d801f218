"""Which RPC servers are taken, and what is said about them."""

import socket

import pytest

from app.engine.llama.bindings import Library
from app.engine.llama.rpc import add_rpc_servers
from app.engine.rpc_address import RpcAddress, check_reachable, resolve, unencrypted_notes
from app.findings import FindingCode, FindingError
from tests.rpc_peer import rpc_peer, silent_peer


def refusal(server: str) -> FindingCode:
    with pytest.raises(FindingError) as caught:
        resolve(server)
    assert caught.value.finding.values["server"] == server
    return caught.value.finding.code


@pytest.mark.parametrize(
    "server",
    ["8.8.8.8:50052", "0.0.0.0:50052", "100.64.0.1:1", "172.32.0.1:1", "127.0.0.1", "127.0.0.1:0",
     "127.0.0.1:65536", ":50052", "127.0.0.1:x", "", "127.0.0.1:²"],
)  # fmt: skip
def test_what_is_not_a_private_address_with_a_port_is_refused(server: str) -> None:
    assert refusal(server) is FindingCode.RPC_ADDRESS_REFUSED


@pytest.mark.parametrize("server", ["no-such-host.invalid:50052", f"{'x' * 300}:50052"])
def test_a_name_nobody_knows_is_unreachable(server: str) -> None:
    assert refusal(server) is FindingCode.RPC_UNREACHABLE


@pytest.mark.parametrize("server", ["127.0.0.1:50052", "10.1.2.3:50052", "172.16.0.9:1", "192.168.7.7:65535"])
def test_private_addresses_are_taken_as_they_are(server: str) -> None:
    assert resolve(server).endpoint == server


def test_a_name_is_replaced_by_the_address_that_was_checked() -> None:
    assert resolve("localhost:50052") == RpcAddress("127.0.0.1", 50052)


def test_only_a_server_on_another_machine_is_called_unencrypted() -> None:
    servers = {"here:1": RpcAddress("127.0.0.1", 1), "there:2": RpcAddress("192.168.1.2", 2)}
    notes = unencrypted_notes(servers)
    assert [finding.values["server"] for finding in notes] == ["there:2"]


def test_a_peer_that_takes_the_connection_and_stays_silent_is_unreachable() -> None:
    with silent_peer() as server, pytest.raises(FindingError) as caught:
        check_reachable("my box:1", resolve(server), limit_seconds=0.2)
    assert caught.value.finding.code is FindingCode.RPC_UNREACHABLE
    assert caught.value.finding.values["server"] == "my box:1"
    assert "(0 s)" in str(caught.value.finding.values["detail"])


def test_a_peer_is_greeted_as_the_protocol_says() -> None:
    heard: list[bytes] = []

    def answer(connection: socket.socket) -> None:
        with connection:
            heard.append(connection.recv(33, socket.MSG_WAITALL))
            connection.sendall(b"\x1c")

    with rpc_peer(answer) as server:
        check_reachable(server, resolve(server))
    assert heard == [b"\x0e" + (24).to_bytes(8, "little") + bytes(24)]


def test_an_old_server_that_hangs_up_is_left_to_the_engine() -> None:
    with rpc_peer(lambda connection: connection.close()) as server:
        check_reachable(server, resolve(server))


@pytest.mark.engine
def test_a_closed_port_is_a_finding_and_not_an_abort(library: Library) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        server = f"127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(FindingError) as caught:
        add_rpc_servers(library, [server])
    assert caught.value.finding.code is FindingCode.RPC_UNREACHABLE
