"""The window with everything behind it, from first paint to the last save."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtWidgets import QApplication, QWidget

from app.chat.store import ConversationStore
from app.engine.engine_devices import EngineReader
from app.engine.engine_on_machine import EngineOnMachine, engine_on_machine
from app.engine.packs import list_engines
from app.files import folder_finding
from app.findings import Finding
from app.hardware.facts import HardwareFacts
from app.hardware.ports import GpuSource, HostSource, SurroundingsSource
from app.library.model_origins import program_folders
from app.library.plan_memory import PlanMemory
from app.paths import (
    chats_file,
    data_folder,
    engine_devices_file,
    engines_folder,
    logs_folder,
    models_folder,
    settings_file,
)
from app.ui.bridge import Bridge
from app.ui.collecting import Collecting
from app.ui.controllers.chat_controller import ChatController
from app.ui.controllers.engine_holder import MakeSession
from app.ui.controllers.machine_controller import MachineController
from app.ui.controllers.model_controller import ModelController
from app.ui.controllers.model_jobs import ModelPorts, make_session
from app.ui.controllers.plan_teacher import PlanTeacher
from app.ui.controllers.preferences import Preferences
from app.ui.desktop import Desktop, QtDesktop
from app.ui.keep_awake import KeepAwake, SleepInhibitor, system_inhibitor
from app.ui.main_window import MainWindow
from app.ui.model_view import BUSY_PHASES, ModelView
from app.ui.parts import Parts
from app.ui.preparation import Preparation
from app.ui.qt_words import QtWords
from app.ui.single_instance import Handover
from app.ui.tasks import SerialTasks, Tasks
from app.ui.theme.fonts import load_fonts
from app.ui.theme.look import LookSource
from app.ui.theme.style_sheet import apply_look
from app.ui.theme.system_theme import is_system_dark
from app.ui.theme.tokens import Palette
from app.ui.views.crash_dialog import CrashDialog
from app.ui.window_geometry import DockState, dock_of_text, place_window, window_text
from app.ui.wiring_chat import ChatWiring
from app.ui.wiring_library import LibraryWiring
from app.ui.wiring_machine import MachineWiring
from app.ui.wiring_model import ModelWiring
from app.ui.wiring_preferences import PreferencesWiring
from app.ui.wiring_repair import RepairWiring

SAVE_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Ports:
    """What lies outside: adapters of this system, or fakes.

    Attributes:
        make_desktop: Gets the window its dialogs belong to.
        make_inhibitor: Gets the reason the system may show.
        make_session: Starts an engine.
        log_lines: Returns the program's newest warnings, for reports.
        engine_reader: Says what engines can use; without one each could use the whole machine.
        model_folders: Returns the folders in which programs keep models.
        measures_unasked: Engines are calibrated when a plan stands and nobody does anything.
    """

    gpu_source: GpuSource
    host_source: HostSource
    make_desktop: Callable[[QWidget], Desktop] = QtDesktop
    make_inhibitor: Callable[[str], SleepInhibitor] = system_inhibitor
    make_session: MakeSession = make_session
    log_lines: Callable[[], tuple[str, ...]] = tuple
    model_folders: Callable[[], tuple[Path, ...]] = program_folders
    surroundings: SurroundingsSource | None = None
    engine_reader: EngineReader | None = None
    measures_unasked: bool = False


class Program(QObject):
    """Makes window and controllers, wires them, and lets go of them in order. GUI thread.

    Signals:
        closed: the person closed the window and everything is saved. Qt tells of no last window closed here,
            since the window was hidden before it could close.
    """

    closed = Signal()

    def __init__(self, application: QApplication, ports: Ports) -> None:
        """Make everything. Nothing is shown, and nothing started but a look at the machine."""
        super().__init__()
        self._application = application
        self._ports = ports
        self._is_closed = False
        self._collecting = Collecting(self)
        load_fonts()
        self._qt_words = QtWords(application)
        self._bridge = Bridge(self)
        self._tasks = Tasks(self._bridge)
        self._settings_tasks = SerialTasks(self._bridge, "settings")
        self._store_tasks = SerialTasks(self._bridge, "chat-store")
        self.preferences = Preferences(settings_file(), self._settings_tasks, self)
        self._looks = self._make_looks()
        sources = (ports.gpu_source, ports.host_source, ports.surroundings)
        self.machine = MachineController(self._bridge, self._tasks, *sources)
        self.machine.look_at_engine = self._look_at_engine
        self.machine.look()
        self._memory = PlanMemory()
        model_ports = self._make_model_ports()
        self.model = ModelController(self._bridge, self._tasks, model_ports, self.preferences.settings.engine)
        self.teacher = PlanTeacher(
            self.model, self._tasks, model_ports, measures_unasked=ports.measures_unasked
        )
        self.chat = ChatController(self.model, self._store_tasks, self.preferences, _open_store)
        self._styled: tuple[Palette, float, bool] | None = None
        application.setFont(self._looks.look.font("body"))  # first: a label made earlier keeps the old family
        self.window = MainWindow(self._looks)
        self._on_look_changed()  # only now: Qt would style every widget again at every step of the building
        self._preparation = Preparation(self.window)
        self._crash_dialog: CrashDialog | None = None
        self.parts = self._make_parts()
        self._model_wiring = ModelWiring(self.parts, self.model)
        self._library_wiring = LibraryWiring(self.parts, self.model, self._model_wiring)
        self._repair_wiring = RepairWiring(self.parts, self.model, self._library_wiring)
        self._chat_wiring = ChatWiring(self.parts, self.model, self.chat)
        self._machine_wiring = MachineWiring(self.parts, self.model)
        self.window.dock.plan_tab.measure_requested.connect(self.teacher.measure)
        self._preferences_wiring = PreferencesWiring(self.parts)
        self.model.view_changed.connect(self._on_view_changed)
        self.window.close_requested.connect(self._on_close_requested)

    def show(self, path: Path | None = None) -> None:
        """Show the window, then start what may take time; open `path` when there is one."""
        kept = self.preferences.settings.window_geometry
        place_window(self.window, kept)
        dock = dock_of_text(kept)
        if dock is not None:
            self.window.set_dock_open(dock.is_open)
            self.window.dock.show_tab(dock.tab)
            self.window.dock.set_width_wish(dock.width)
        self.window.show()
        QTimer.singleShot(0, self, lambda: self._start(path))

    @Slot(object)
    def open_handover(self, handover: Handover) -> None:
        """Come forward, and open what a second start was given."""
        come_forward(self.window, handover.activation_token)
        if handover.path is not None:
            self._model_wiring.open_path(Path(handover.path))

    @Slot(str)
    def show_crash(self, report: str) -> None:
        """Tell of a failure of Moxie itself; the window goes on."""
        if self._is_closed:
            return
        if self._crash_dialog is None:
            self._crash_dialog = CrashDialog(self._looks, self.window)
            self._crash_dialog.folder_requested.connect(self._on_logs_requested)
        self._crash_dialog.add_report(report)

    @Slot()
    def save(self) -> None:
        """Save what is not saved yet: the session may end."""
        if not self._is_closed:
            self.chat.stop()
            self.preferences.set(window_geometry=self._window_text())
            self.preferences.save_now()

    @Slot()
    def rest(self) -> None:
        """Stop the answer and let the model go: the PC goes to sleep."""
        self.chat.stop()
        self.model.unload()

    @Slot()
    def close(self) -> None:
        """Save everything and end the engine; gone on return. Twice is harmless."""
        if self._is_closed:
            return
        self._is_closed = True
        self._collecting.close()
        self._preparation.stop()
        self._qt_words.close()
        self.preferences.set(window_geometry=self._window_text())
        self.window.hide()  # boxes hand over what was written in them
        self.preferences.save_now()
        self.parts.awake.close()
        self.chat.close()
        self.machine.stop()
        self._library_wiring.close()
        self._repair_wiring.close()
        self.teacher.close()
        self._tasks.close()
        self.model.close()
        self._settings_tasks.finish(SAVE_SECONDS)
        self._ports.gpu_source.close()

    def _start(self, path: Path | None) -> None:
        self.machine.start()
        self.chat.start()
        self._collecting.start()
        self._preparation.start()
        self._model_wiring.look_for_models()
        self._preferences_wiring.look_for_engines()
        for finding in self.preferences.findings:
            self._chat_wiring.show_finding(finding)
        self._tasks.run_in_background(_data_folder_finding, self._on_data_folder_checked)
        if path is not None:
            self._model_wiring.open_path(path)

    def _on_data_folder_checked(self, finding: Finding | None) -> None:
        if finding is not None:
            self._chat_wiring.show_finding(finding)

    def _window_text(self) -> str:
        dock = self.window.dock
        return window_text(self.window, DockState(self.window.dock_wish(), dock.tab, dock.width_wish))

    def _make_looks(self) -> LookSource:
        look = self.preferences.look(is_system_dark=is_system_dark())
        looks = LookSource(look)
        looks.changed.connect(self._on_look_changed)
        self.preferences.attach(looks, is_system_dark)
        self._application.styleHints().colorSchemeChanged.connect(self.preferences.update_look)
        return looks

    def _make_model_ports(self) -> ModelPorts:
        return ModelPorts(
            self.machine.fresh_budget,
            make_session=self._ports.make_session,
            language=lambda: self.preferences.language,
            seen=lambda: self.machine.seen,
            memory=self._memory,
        )

    def _look_at_engine(self, hardware: HardwareFacts) -> EngineOnMachine:
        """Return what the engine in the settings can do with a machine. Any thread."""
        settings, reader = self.preferences.settings, self._ports.engine_reader
        entries = () if reader is None else list_engines(settings.engine)
        chosen = next((entry for entry in entries if entry.is_selected), None)
        return engine_on_machine(reader or EngineReader(None), chosen, hardware, settings.excluded_gpus)

    def _make_parts(self) -> Parts:
        reason = self._looks.look.text("ui.awake.reason")
        return Parts(
            self.window,
            self._looks,
            self.preferences,
            self._tasks,
            self.machine,
            self._ports.make_desktop(self.window),
            KeepAwake(self._ports.make_inhibitor(reason)),
            self._ports.log_lines,
            self._ports.model_folders,
            self._memory,
        )

    @Slot(object)
    def _on_view_changed(self, view: ModelView) -> None:
        self._collecting.set_busy(is_busy=view.phase in BUSY_PHASES)

    @Slot()
    def _on_close_requested(self) -> None:
        self.close()
        self.window.allow_close()
        self.closed.emit()

    @Slot()
    def _on_look_changed(self) -> None:
        look = self._looks.look
        self._qt_words.set_language(look.texts.language)
        style = (look.colors, look.zoom, look.is_chinese)
        if style != self._styled:  # styling all widgets takes a while
            self._styled = style
            apply_look(self._application, look)

    @Slot()
    def _on_logs_requested(self) -> None:
        self.parts.desktop.open_folder(logs_folder())


def come_forward(window: QWidget, activation_token: str | None = None) -> None:
    """Bring a window in front of others.

    Args:
        activation_token: What a Wayland desktop gave to the program that was started, which may come forward.
    """
    if activation_token:
        os.environ["XDG_ACTIVATION_TOKEN"] = activation_token  # Qt takes it from there
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()


def system_ports() -> Ports:
    """Return the adapters of this system."""
    from app.hardware.host import PsutilHostSource
    from app.hardware.this_machine import system_gpus, system_surroundings

    reader = EngineReader(engine_devices_file())
    return Ports(
        system_gpus(),
        PsutilHostSource(),
        surroundings=system_surroundings(),
        engine_reader=reader,
        measures_unasked=True,
    )


def _data_folder_finding() -> Finding | None:
    """Return why something cannot be saved; the window goes on in memory."""
    folders = (data_folder(), logs_folder(), models_folder(), engines_folder())
    return next(filter(None, map(folder_finding, folders)), None)


def _open_store() -> ConversationStore:
    return ConversationStore(chats_file())
