"""Addresses of llama.cpp RPC servers: private ones only, as the protocol has no password and no cipher."""

import errno
import ipaddress
import os
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.findings import Finding, FindingCode, FindingError, error, note

CONNECT_SECONDS: Final = 3.0
HELLO_SECONDS: Final = 5.0
"""For a server's first word. It serves one client at a time and lets the others wait without one."""

_HELLO: Final = struct.pack("<BQ24s", 14, 24, b"")
"""`RPC_CMD_HELLO`, "must be always 14" (ggml-rpc.cpp), its length, and no wish for another transport."""

PRIVATE_NETWORKS: Final = tuple(
    ipaddress.IPv4Network(text)
    for text in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16")
)
"""Loopback, RFC 1918 and link-local; llama.cpp's RPC speaks IPv4 only."""


@dataclass(frozen=True, slots=True)
class RpcAddress:
    """A checked address. `host` is numeric: what was checked is what the engine connects to."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """True when nothing leaves this machine."""
        return ipaddress.IPv4Address(self.host).is_loopback

    @property
    def endpoint(self) -> str:
        """The form the engine takes."""
        return f"{self.host}:{self.port}"


def unencrypted_notes(servers: Mapping[str, RpcAddress]) -> tuple[Finding, ...]:
    """Return a note for each server that is on another machine."""
    return tuple(
        note(FindingCode.RPC_UNENCRYPTED, server=server)
        for server, address in servers.items()
        if not address.is_loopback
    )


def resolve(server: str) -> RpcAddress:
    """Return the address of `host:port`.

    Raises:
        FindingError: `RPC_ADDRESS_REFUSED` for anything that is not a private IPv4 address with a
            port, `RPC_UNREACHABLE` for a name nobody knows.
    """
    host, _, port_text = server.rpartition(":")
    if not host or not (port_text.isascii() and port_text.isdigit()) or not 0 < int(port_text) < 65536:
        raise FindingError(error(FindingCode.RPC_ADDRESS_REFUSED, server=server))
    try:
        found = socket.getaddrinfo(host, int(port_text), socket.AF_INET, socket.SOCK_STREAM)
    except (OSError, UnicodeError, ValueError) as reason:
        raise FindingError(error(FindingCode.RPC_UNREACHABLE, server=server, detail=str(reason))) from reason
    numeric = str(found[0][4][0])
    if not any(ipaddress.IPv4Address(numeric) in network for network in PRIVATE_NETWORKS):
        raise FindingError(error(FindingCode.RPC_ADDRESS_REFUSED, server=server))
    return RpcAddress(numeric, int(port_text))


def check_reachable(server: str, address: RpcAddress, limit_seconds: float = HELLO_SECONDS) -> None:
    """Say hello once ourselves: engines abort when they cannot, and wait for ever for a silent server.

    Whatever comes back, an end of the connection too, is the engine's to judge: it knows the version.

    Raises:
        FindingError: `RPC_UNREACHABLE`.
    """
    try:
        with socket.create_connection((address.host, address.port), CONNECT_SECONDS) as connection:
            connection.settimeout(limit_seconds)
            connection.sendall(_HELLO)
            connection.recv(1)
    except ConnectionResetError:
        return
    except TimeoutError as reason:
        detail = f"{os.strerror(errno.ETIMEDOUT)} ({limit_seconds:.0f} s)"
        raise FindingError(error(FindingCode.RPC_UNREACHABLE, server=server, detail=detail)) from reason
    except OSError as reason:
        raise FindingError(error(FindingCode.RPC_UNREACHABLE, server=server, detail=str(reason))) from reason
