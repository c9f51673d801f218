"""Listeners that are no RPC server, or one that is stuck."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def silent_peer() -> Iterator[str]:
    """Yield `host:port` of a listener: the system takes connections, nobody ever says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def rpc_peer(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """Yield `host:port` of a listener that hands every connection to `serve`."""

    def accept() -> None:
        with contextlib.suppress(OSError):  # closed at the end
            while True:
                serve(listener.accept()[0])

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()
