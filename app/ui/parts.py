"""What the wiring joins: made once by the program, handed to every wiring."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.library.model_origins import program_folders
from app.library.plan_memory import PlanMemory
from app.ui.controllers.machine_controller import MachineController
from app.ui.controllers.preferences import Preferences
from app.ui.desktop import Desktop
from app.ui.keep_awake import KeepAwake
from app.ui.main_window import MainWindow
from app.ui.tasks import Tasks
from app.ui.theme.look import LookSource


@dataclass(frozen=True, slots=True)
class Parts:
    """The window and what stands behind it, but for model and chats.

    Attributes:
        log_lines: Returns the program's newest warnings.
        model_folders: Returns the folders in which programs keep models.
        plan_memory: What loads and answers taught; None where nothing is kept.
    """

    window: MainWindow
    looks: LookSource
    preferences: Preferences
    tasks: Tasks
    machine: MachineController
    desktop: Desktop
    awake: KeepAwake
    log_lines: Callable[[], tuple[str, ...]]
    model_folders: Callable[[], tuple[Path, ...]] = program_folders
    plan_memory: PlanMemory | None = None
