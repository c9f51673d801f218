"""Takes pictures of the real window with the default model: `python build_scripts/screenshots.py FOLDER`.

Every state in both languages and themes, at 1366x768, 1440x900, and 4K at 200 %. Needs Linux, the environment
of `build_scripts/test.py` and the models it made.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil  # noqa: E402 the checkout is found first
from PySide6.QtCore import QEventLoop, QTimer  # noqa: E402 likewise
from PySide6.QtTest import QTest  # noqa: E402 the platform is chosen, and the checkout found, first

from app.__main__ import WORKER_FLAG  # noqa: E402
from app.chat.store import ConversationStore  # noqa: E402
from app.library.default_model import FILE_NAME, default_model_file  # noqa: E402
from app.options import SamplingOptions  # noqa: E402
from app.paths import HOME_VARIABLE, chats_file, settings_file  # noqa: E402
from app.settings import Settings, save_settings  # noqa: E402
from app.texts import LANGUAGES  # noqa: E402
from app.ui.application import make_application  # noqa: E402
from app.ui.main_window import CHAT, MODELS, SETTINGS  # noqa: E402
from app.ui.model_page_view import ModelPageView  # noqa: E402
from app.ui.model_view import ModelPhase, ModelView  # noqa: E402
from app.ui.program import Program, system_ports  # noqa: E402
from app.ui.views import dock  # noqa: E402
from tests.builders import dense_model  # noqa: E402
from tests.gguf_bytes import Tensor, text, write_gguf  # noqa: E402
from tests.models.tiny import write_tiny  # noqa: E402

MODEL: Final = ROOT / ".cache" / "test-assets" / "models" / "smollm2-moe-8x2.gguf"
SIZES: Final = {1: ((1366, 768), (1440, 900)), 2: ((1920, 1080),)}
"""Scale -> sizes in device-independent pixels; the last is 4K."""

THEMES: Final = ("light", "dark")
WAIT_SECONDS: Final = 120.0
SETTLE_MS: Final = 300
QUESTIONS: Final = (
    "What is the capital of France? Answer in one sentence.",
    "Write a Python function that adds two numbers.",
)
WEIGHTS_READ: Final = 0.2
"""How far a load is before it is held still; what the engine has said by then still arrives."""

SAMPLES: Final = {
    "dense": "dense-F16.gguf",
    "few_layers": "tiny-Q8_0.gguf",
    "moe": FILE_NAME,
    "broken": "half a download.gguf",
    "projector": "mmproj-F16.gguf",
}
"""Files the Models page is shown with, by the state they bring it into."""

LOOKED_AT_MS: Final = 4000
STORY: Final = "Write a long story about a lighthouse keeper and the sea."
EARLIER_CHATS: Final = ("Names for a boat", "Regular expressions explained", "A letter to the landlord")


def main(arguments: Sequence[str]) -> int:
    """Take all pictures; every scale has a process of its own, for Qt reads it at its start."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    for scale in SIZES:
        with tempfile.TemporaryDirectory(prefix="moxie-") as home:
            environment = {**os.environ, HOME_VARIABLE: home, "QT_SCALE_FACTOR": str(scale)}
            command = [sys.executable, __file__, arguments[0], str(scale)]
            status = subprocess.run(command, env=environment, check=False).returncode
        if status:
            return status
    return 0


def take_all(folder: Path, scale: int) -> int:
    """Take the pictures of one scale, in this process."""
    folder.mkdir(parents=True, exist_ok=True)
    _prepare_home()
    application = make_application()
    program = Program(application, system_ports())
    program.show()
    try:
        _Photographer(program, folder, scale).take_all()
    finally:
        program.close()
    return 0


def _prepare_home() -> None:
    default_model_file().symlink_to(MODEL)
    save_settings(settings_file(), Settings(sampling=SamplingOptions(temperature=0.0, max_tokens=400)))
    store = ConversationStore(chats_file())
    for title in EARLIER_CHATS:
        store.append(store.create(), "user", title)
    store.close()


def _write_samples(folder: Path) -> None:
    """Lay a dense model, a broken file and a projector beside the default model."""
    write_tiny("llama", folder / SAMPLES["few_layers"])
    keys, tensors = dense_model()
    write_gguf(folder / SAMPLES["dense"], keys | {"general.name": text("A small dense model")}, tensors)
    content = (folder / SAMPLES["few_layers"]).read_bytes()
    (folder / SAMPLES["broken"]).write_bytes(content[: len(content) // 2])
    projector = {"general.architecture": text("clip"), "general.type": text("mmproj")}
    write_gguf(folder / SAMPLES["projector"], projector, [Tensor("v.blk.0.attn_q.weight", (32, 32))])


class _Photographer:
    """Brings the window into one state after the other."""

    def __init__(self, program: Program, folder: Path, scale: int) -> None:
        self._program = program
        self._window = program.window
        self._folder = folder
        self._scale = scale
        self._has_frozen_load = False

    def take_all(self) -> None:
        stage, bar, box = (
            self._window.chat_place.stage,
            self._window.model_bar,
            self._window.chat_place.composer,
        )
        self._wait(lambda: self._program.machine.hardware is not None)
        self._take("1_first_run")
        self._take_models()
        self._window.show_place(CHAT)
        self._program.model.pick(default_model_file())
        self._wait_for(ModelPhase.PLANNED)
        self._window.show_findings()
        self._take("2_planned")
        self._program.model.view_changed.connect(self._freeze_while_weights_load)
        bar.load_requested.emit()
        self._wait(lambda: self._has_frozen_load)
        with _frozen():
            self._take("3_loading")
        self._wait_for(ModelPhase.READY)
        for question in QUESTIONS:
            box.send_requested.emit(question)
            self._wait_for(ModelPhase.READY)
        self._window.dock.show_tab(dock.MONITOR)
        self._take("4_ready")
        self._window.dock.show_tab(dock.PLAN)
        self._take("4_ready_plan")
        self._window.dock.show_tab(dock.PARAMETERS)
        self._take("4_ready_parameters")
        self._window.dock.show_tab(dock.MONITOR)
        box.send_requested.emit(STORY)
        self._settle(3000)
        with _frozen():
            self._take("5_generating")
        for engine in _engines():
            engine.kill()
        self._wait_for(ModelPhase.FAILED)
        self._take("6_failed")
        self._window.show_place(SETTINGS)
        self._take("7_settings")
        self._window.show_place(CHAT)
        self._program.chat.new_chat()
        assert stage.content is stage.failure
        self._take("6_failed_without_chat")

    def _take_models(self) -> None:
        """Take the Models page: nothing found, then each kind of file there is."""
        self._window.show_place(MODELS)
        page, samples = self._window.models_page, default_model_file().parent
        self._settle(LOOKED_AT_MS)
        page.list.show_models((), is_searching=False)
        page.empty.show_state(has_models=False)
        page.show_view(ModelPageView())
        self._take("8_models_nothing_found")
        _write_samples(samples)
        for state, name in SAMPLES.items():
            page.list.model_chosen.emit(samples / name)
            page.list.choose(samples / name)
            page.shown.emit()
            self._settle(LOOKED_AT_MS)
            self._take(f"8_models_{state}")

    def _freeze_while_weights_load(self, view: ModelView) -> None:
        if not self._has_frozen_load and _is_loading_weights(view):
            self._has_frozen_load = True
            for engine in _engines():
                engine.suspend()

    def _take(self, state: str) -> None:
        for width, height in SIZES[self._scale]:
            self._window.resize(width, height)
            for theme in THEMES:
                for language in LANGUAGES:
                    self._program.preferences.set(theme=theme, language=language)
                    self._settle(SETTLE_MS)
                    name = f"{state}_{theme}-{language}_{width * self._scale}x{height * self._scale}.png"
                    self._window.grab().save(str(self._folder / name))
        print(state, flush=True)

    def _wait_for(self, phase: ModelPhase) -> None:
        self._wait(lambda: self._program.model.view.phase is phase)
        self._settle(SETTLE_MS)

    def _wait(self, is_true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not is_true():
            if time.monotonic() > deadline:
                raise TimeoutError(self._program.model.view)
            QTest.qWait(20)

    def _settle(self, milliseconds: int) -> None:
        loop = QEventLoop()  # unlike a test's wait it leaves other threads their time
        QTimer.singleShot(milliseconds, loop.quit)
        loop.exec()


def _is_loading_weights(view: ModelView) -> bool:
    progress = view.progress
    return progress is not None and progress.phase == "weights" and (progress.fraction or 0.0) > WEIGHTS_READ


@contextlib.contextmanager
def _frozen() -> Iterator[None]:
    """Hold the engine still, so that a passing state has time for all its pictures."""
    for engine in _engines():
        engine.suspend()
    yield
    for engine in _engines():
        engine.resume()


def _engines() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if WORKER_FLAG in child.cmdline()]


if __name__ == "__main__":
    if len(sys.argv) == 3:
        sys.exit(take_all(Path(sys.argv[1]), int(sys.argv[2])))
    sys.exit(main(sys.argv[1:]))
