"""Where models come from: files and folders that are added, dropped, shown, or taken out again."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Slot

from app.ui.main_window import MODELS
from app.ui.parts import Parts


@dataclass(frozen=True, slots=True)
class PlaceActions:
    """What follows when a place is another.

    Attributes:
        look: Have models looked for.
        show: Show a file on the Models page.
        open: Pick a file for the chat.
        start: Returns the folder in which dialogs begin.
    """

    look: Callable[[], None]
    show: Callable[[Path], None]
    open: Callable[[Path], None]
    start: Callable[[], Path]


class PlacesWiring(QObject):
    """Adds and forgets files and folders; no file is ever deleted. GUI thread."""

    def __init__(self, parts: Parts, actions: PlaceActions) -> None:
        super().__init__()
        self._parts = parts
        self._actions = actions
        models = parts.window.models_page.list
        models.file_requested.connect(self._on_file_requested)
        models.folder_requested.connect(self._on_folder_requested)
        models.show_in_folder_requested.connect(self._on_show_in_folder)
        models.copy_path_requested.connect(self._on_copy_path)
        models.removal_requested.connect(self._on_removal_requested)
        parts.window.path_dropped.connect(self._on_path_dropped)
        parts.preferences.changed.connect(self._tell_added)
        self._tell_added()

    def choose_file(self, on_chosen: Callable[[Path], None]) -> None:
        """Let the person choose a model's file."""
        look = self._parts.looks.look
        pattern = f"{look.text('ui.file.models')} (*.gguf)"
        self._parts.desktop.choose_file(look.text("ui.file.title"), pattern, self._actions.start(), on_chosen)

    @Slot()
    def _tell_added(self) -> None:
        added = tuple(map(Path, self._parts.preferences.settings.library_paths))
        self._parts.window.models_page.list.show_added(added)

    @Slot()
    def _on_file_requested(self) -> None:
        self.choose_file(self._add_file)

    @Slot()
    def _on_folder_requested(self) -> None:
        title = self._parts.looks.look.text("ui.models.folder_title")
        self._parts.desktop.choose_folder(title, self._actions.start(), self._add)

    @Slot(object)
    def _on_path_dropped(self, path: Path) -> None:
        """Find out what was dropped, and show it where that was; a folder goes to the list anyway."""
        path = Path(os.path.abspath(path))  # noqa: PTH100  # keeps `..` and links as they are
        is_library = self._parts.window.place == MODELS
        known = partial(self._on_drop_known, path, is_library)
        self._parts.tasks.run_in_background(lambda: os.path.isdir(path), known)  # noqa: PTH112  # never raises

    def _on_drop_known(self, path: Path, is_library: bool, is_folder: bool) -> None:
        if is_folder:
            self._parts.window.show_place(MODELS)
            self._add(path)
        elif is_library:
            self._add_file(path)
        else:
            self._actions.open(path)

    def _add_file(self, path: Path) -> None:
        self._add(path)
        self._actions.show(path)

    def _add(self, path: Path) -> None:
        self._parts.preferences.add_library_path(path)
        message = self._parts.looks.look.text("ui.models.added", name=path.name or str(path))
        self._parts.window.show_toast(message)
        self._parts.window.models_page.list.list.setFocus()  # the button that was pressed may be gone
        self._actions.look()

    @Slot(object)
    def _on_show_in_folder(self, path: Path) -> None:
        self._parts.desktop.open_folder(path.parent)

    @Slot(object)
    def _on_copy_path(self, path: Path) -> None:
        self._parts.desktop.copy(str(path))
        self._parts.window.show_toast(self._parts.looks.look.text("ui.models.path_copied", name=path.name))

    @Slot(object)
    def _on_removal_requested(self, entry: Path) -> None:
        """Forget a file or folder; what was loaded from it would bring it back, so that is forgotten too."""
        preferences, look = self._parts.preferences, self._parts.looks.look
        before = preferences.settings
        recent = tuple(path for path in before.recent_models if not Path(path).is_relative_to(entry))
        added = tuple(path for path in before.library_paths if Path(path) != entry)
        preferences.set(library_paths=added, recent_models=recent)
        self._actions.look()
        self._parts.window.show_toast(
            look.text("ui.models.removed", name=entry.name or str(entry)),
            look.text("ui.toast.undo"),
            partial(self._restore, before.library_paths, before.recent_models),
            is_undo=True,
        )

    def _restore(self, added: tuple[str, ...], recent: tuple[str, ...]) -> None:
        self._parts.preferences.set(library_paths=added, recent_models=recent)
        self._actions.look()
