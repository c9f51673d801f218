"""A second device without a GPU: this machine's processor, served through llama.cpp's RPC backend.

Client and server must be of one build: `worker_rpc_server` is the built-in engine's own library in a
child, `pack_rpc_server` the `ggml-rpc-server` of an engine pack.
"""

import ctypes
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from app.processes.children import ChildStreams, end_child, start_child
from app.processes.environment import engine_environment

START_SECONDS = 30.0
ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def worker_rpc_server() -> Iterator[str]:
    """Yield `host:port` of a server made from the built-in engine's library."""
    port = _free_port()
    with _running([sys.executable, "-m", "tests.rpc_server", f"127.0.0.1:{port}"], port) as server:
        yield server


@contextmanager
def pack_rpc_server(pack_folder: Path) -> Iterator[str]:
    """Yield `host:port` of a server out of an engine pack."""
    port = _free_port()
    name = "ggml-rpc-server.exe" if sys.platform == "win32" else "ggml-rpc-server"
    argv = [
        str(pack_folder / name),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--threads",
        "1",
        "--device",
        "CPU",
    ]
    with _running(argv, port) as server:
        yield server


def serve(endpoint: str) -> None:
    """Serve the processor until killed."""
    from app.engine.llama.bindings import load_library

    library = load_library()
    by_name = library.function("ggml_backend_dev_by_name", ctypes.c_void_p, ctypes.c_char_p)
    size, text, pointer = ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
    start = library.function("ggml_backend_rpc_start_server", None, text, text, size, size, pointer)
    devices = (pointer * 1)(by_name(b"CPU"))
    start(endpoint.encode(), None, 1, 1, ctypes.cast(devices, pointer))


@contextmanager
def _running(argv: Sequence[str], port: int) -> Iterator[str]:
    quiet = ChildStreams(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    child = start_child(
        argv, env=engine_environment(os.environ), streams=quiet, die_with_parent=True, cwd=ROOT
    )
    try:
        _wait_until_it_listens(child, port)
        yield f"127.0.0.1:{port}"
    finally:
        end_child(child)


def _wait_until_it_listens(child: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
            return
        except OSError:
            pass
        try:
            child.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        raise RuntimeError(f"the RPC server ended with {child.returncode}")
    raise RuntimeError(f"no RPC server on port {port} after {START_SECONDS} s")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    serve(sys.argv[1])
