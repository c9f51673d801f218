"""The whole window in this process, over an empty data folder, for the benches that drive it."""

import gc
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.hardware.facts import GpuInfo
from app.hardware.host import PsutilHostSource
from app.options import SamplingOptions
from app.paths import HOME_VARIABLE
from app.settings import Settings
from app.ui.application import make_application
from app.ui.controllers.engine_holder import MakeSession
from app.ui.controllers.model_jobs import make_session
from app.ui.model_view import ModelPhase
from app.ui.program import Ports, Program
from tests.fakes import FakeGpuSource
from tests.window_driver import FakeDesktop, FakeInhibitor, make_program

GIB: Final = 1024**3
GPU: Final = GpuInfo(0, "A GPU", vram_total_bytes=12 * GIB, vram_free_bytes=11 * GIB)
DEFAULT_MODEL: Final = (
    Path(__file__).resolve().parents[2] / ".cache" / "test-assets" / "models" / "smollm2-moe-8x2.gguf"
)
"""`build_scripts/test.py` makes it."""

SIZE: Final = (1366, 768)
WAIT_SECONDS: Final = 300.0
POLL_MS: Final = 20


@contextmanager
def window_program(
    engine: str, sampling: SamplingOptions | None = None, make: MakeSession = make_session
) -> Iterator[Program]:
    """Show the window of a program with this engine, on a machine that seems to have a GPU of 12 GB."""
    application = QApplication.instance() or make_application()
    assert isinstance(application, QApplication)
    with tempfile.TemporaryDirectory(prefix="moxie-", ignore_cleanup_errors=True) as home:
        os.environ[HOME_VARIABLE] = home
        ports = Ports(
            FakeGpuSource([GPU]),
            PsutilHostSource(),
            lambda _parent: FakeDesktop(),
            lambda _reason: FakeInhibitor(),
            make,
        )
        settings = Settings(engine=engine, language="en", sampling=sampling or SamplingOptions())
        program = make_program(application, ports, settings)
        try:
            program.show()
            program.window.resize(*SIZE)
            wait_until(lambda: program.machine.hardware is not None)
            gc.collect()
            yield program
        finally:
            program.close()


def wait_until(is_true: Callable[[], bool], seconds: float = WAIT_SECONDS) -> None:
    """Let the window live until `is_true`, which is asked every few milliseconds."""
    loop, poll, limit = QEventLoop(), QTimer(interval=POLL_MS), QTimer(singleShot=True)
    poll.timeout.connect(lambda: loop.quit() if is_true() else None)
    limit.timeout.connect(lambda: loop.exit(1))
    poll.start()
    limit.start(round(seconds * 1000))
    if loop.exec():
        raise RuntimeError("the window did not come there in time")


def wait_for_phase(program: Program, phase: ModelPhase) -> None:
    """Let the window live until the model is so far."""
    wait_until(lambda: program.model.view.phase in (phase, ModelPhase.FAILED))
    if program.model.view.phase is not phase:
        raise RuntimeError(f"{program.model.view.failure}: {program.model.view.log_tail}")


def load(program: Program, path: Path) -> None:
    """Pick and load a model."""
    program.model.pick(path)
    wait_for_phase(program, ModelPhase.PLANNED)
    program.model.load()
    wait_for_phase(program, ModelPhase.READY)
