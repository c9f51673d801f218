"""Fixtures every test may use: a private data folder, and the real parts `build_scripts/test.py` prepared."""

import gc
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from app.paths import HOME_VARIABLE

# A run started in the background of a shell ignores Ctrl+C, and every program it starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How fast drawn examples come is the machine's matter, not the code's.
settings.register_profile("moxie", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("moxie")

# Python collects in whichever thread makes the next object, and a widget must not end in another thread.
gc.disable()

GARBAGE_MAX = 20_000
"""New objects after which a test is followed by a collection."""

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT / ".cache" / "test-assets"


@pytest.fixture(autouse=True)
def garbage_in_the_main_thread() -> Iterator[None]:
    """Collect here, since nobody else does."""
    yield
    if gc.get_count()[0] > GARBAGE_MAX:
        gc.collect()


@pytest.fixture(autouse=True)
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give every test an empty data folder of its own, in English."""
    home = tmp_path / "moxie-home"
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    return home


def _asset(*parts: str) -> Path:
    path = ASSETS.joinpath(*parts)
    if not path.exists():
        pytest.fail(f"{path} is missing: run build_scripts/test.py, which makes it")
    return path


@pytest.fixture(scope="session")
def moe_model() -> Path:
    """The default model: 8 real experts, 2 used, 447 MB."""
    return _asset("models", "smollm2-moe-8x2.gguf")


@pytest.fixture(scope="session")
def exact_twin() -> Path:
    """4 equal experts, 1 used: greedy text is the dense model's, bit for bit."""
    return _asset("models", "smollm2-moe-4x1-exact.gguf")


@pytest.fixture(scope="session")
def engine_pack() -> Path:
    """A folder with a real llama-server."""
    return _asset("engines", "llama-server")
