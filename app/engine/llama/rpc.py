"""llama.cpp RPC servers as devices of the low-level API."""

import ctypes
from collections.abc import Sequence

from app.engine.llama.bindings import Library, SymbolMissingError
from app.engine.rpc_address import RpcAddress, check_reachable, resolve
from app.findings import FindingCode, FindingError, error


def add_rpc_servers(library: Library, servers: Sequence[str]) -> dict[str, RpcAddress]:
    """Register the devices of each `host:port`, and return where each was found.

    Raises:
        FindingError: `RPC_ADDRESS_REFUSED`, `RPC_UNREACHABLE`, or `OPTION_UNSUPPORTED` when this
            build has no RPC.
    """
    found = {}
    for server in dict.fromkeys(servers):
        address = resolve(server)
        check_reachable(server, address)
        _register(library, server, address)
        found[server] = address
    return found


def _register(library: Library, server: str, address: RpcAddress) -> None:
    try:
        add = library.function("ggml_backend_rpc_add_server", ctypes.c_void_p, ctypes.c_char_p)
        register = library.function("ggml_backend_register", None, ctypes.c_void_p)
    except SymbolMissingError as reason:
        values = {"name": "rpc_servers", "value": server}
        raise FindingError(error(FindingCode.OPTION_UNSUPPORTED, **values)) from reason
    registry = add(address.endpoint.encode("ascii"))
    if not registry:  # something listens there, but does not speak this version of the protocol
        raise FindingError(error(FindingCode.RPC_UNREACHABLE, server=server, detail=address.endpoint))
    register(registry)
