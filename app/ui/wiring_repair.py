"""Joins the buttons of findings with the repair of a file, and its dialog."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Slot

from app.findings import Finding
from app.ui.controllers.model_controller import ModelController
from app.ui.controllers.repair_controller import RepairController, RepairPorts
from app.ui.model_view import ModelView
from app.ui.parts import Parts
from app.ui.views.repair_actions import RepairRequest, repair_request
from app.ui.views.repair_dialog import RepairDialog
from app.ui.views.repair_view import RepairView
from app.ui.wiring_library import LibraryWiring


class RepairWiring(QObject):
    """Switches values given at load on and off, and has copies made. GUI thread."""

    def __init__(self, parts: Parts, model: ModelController, library: LibraryWiring) -> None:
        super().__init__()
        self._parts = parts
        self._model = model
        self._library = library
        ports = RepairPorts(lambda: parts.machine.fresh_budget().ram_free_bytes)
        self.repair = RepairController(parts.tasks, ports)
        self.dialog: RepairDialog | None = None
        plan_tab, page = parts.window.dock.plan_tab, parts.window.models_page
        plan_tab.finding_action_requested.connect(partial(self._on_finding_action, self._picked_path))
        page.finding_action_requested.connect(partial(self._on_finding_action, self._shown_path))
        self.repair.view_changed.connect(self._on_view_changed)
        self.repair.decided.connect(self._on_decided)
        self.repair.failed.connect(self._on_failed)

    def close(self) -> None:
        """Leave nothing behind that is half made. Blocks for two seconds at most."""
        self.repair.close()

    def _picked_path(self) -> Path | None:
        return _path_of(self._model.view)

    def _shown_path(self) -> Path | None:
        view = self._library.shown.view
        return view.facts.path if view.facts is not None else view.path

    def _on_finding_action(self, path_of: Callable[[], Path | None], finding: Finding) -> None:
        request, path = repair_request(finding), path_of()
        if request is None or path is None:
            return
        if request is RepairRequest.DIALOG:
            self._open_dialog(path)
        else:
            self.repair.switch(path, is_on=request is RepairRequest.ON)

    def _open_dialog(self, path: Path) -> None:
        if self.dialog is not None:
            return
        dialog = self.dialog = RepairDialog(self._parts.looks, self._parts.window)
        dialog.values_edited.connect(self.repair.preview)
        dialog.make_requested.connect(self.repair.make)
        dialog.load_requested.connect(self.repair.load_with)
        dialog.open_requested.connect(self._on_open_requested)
        dialog.delete_requested.connect(self.repair.delete_copy)
        dialog.cancelled.connect(self.repair.cancel)
        dialog.finished.connect(self._on_dialog_finished)
        self.repair.value_refused.connect(dialog.mark_wrong)
        self.repair.plan(path)
        dialog.open()

    @Slot(object)
    def _on_view_changed(self, view: RepairView) -> None:
        if self.dialog is not None:
            self.dialog.show_view(view)

    @Slot()
    def _on_dialog_finished(self) -> None:
        if self.dialog is not None:
            self.repair.value_refused.disconnect(self.dialog.mark_wrong)
        self.dialog = None

    @Slot(object)
    def _on_decided(self, path: Path) -> None:
        """Look at the file again, everywhere it is shown."""
        if self.dialog is not None:
            self.dialog.accept()
        if _path_of(self._model.view) == path:
            self._model.unload()  # what is loaded was loaded otherwise
            self._model.pick(path)
        self._library.look_again(path)

    @Slot(object)
    def _on_open_requested(self, path: Path) -> None:
        self._model.unload()
        self._model.pick(path)
        self._library.show_new(path)

    @Slot(object)
    def _on_failed(self, finding: Finding) -> None:
        self._parts.window.show_toast(self._parts.looks.look.texts.finding(finding).message)


def _path_of(view: ModelView) -> Path | None:
    return view.facts.path if view.facts is not None else view.path
