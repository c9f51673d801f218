"""The dialog of a repair: what changes in words and bytes, what it takes, how far it is, whether it works."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QCloseEvent, QTextOption
from PySide6.QtWidgets import QDialog, QLayout, QPlainTextEdit, QWidget

from app.ui.theme.look import LookSource
from app.ui.views.repair_view import (
    RepairPhase,
    RepairView,
    byte_words,
    change_words,
    proposal_words,
    space_words,
)
from app.ui.views.words import say
from app.ui.widgets.buttons import Button
from app.ui.widgets.fields import Field
from app.ui.widgets.labels import IconLabel, TextLabel
from app.ui.widgets.layouts import column, holder, row, tone_box
from app.ui.widgets.progress_line import ProgressLine

_WIDTH: Final = 640
_BYTES_HEIGHT: Final = 132
_MARGINS: Final = (22, 18, 22, 20)
_PROGRESS_THICKNESS: Final = 6


class RepairDialog(QDialog):
    """Shows one `RepairView` after the other. Escape cancels what is under way; nothing of a copy stays.

    Signals:
        values_edited: texts by key, at each key.
        make_requested: texts by key, and the Path of the copy.
        load_requested: texts by key: the values are given at load, no copy is made.
        open_requested: the Path of the copy that works.
        delete_requested: the copy that does not work is to go.
        cancelled: what is under way is not wanted any more.
    """

    values_edited = Signal(object)
    make_requested = Signal(object, object)
    load_requested = Signal(object)
    open_requested = Signal(object)
    delete_requested = Signal()
    cancelled = Signal()

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._view: RepairView | None = None
        self._fields: dict[str, Field] = {}
        self._title = TextLabel("title", wrap=True)
        self._body = TextLabel("body", "soft", wrap=True)
        self._changes = column(gap=6)
        self._values = column(gap=6)
        self.bytes = QPlainTextEdit(readOnly=True)
        self._bytes_title = TextLabel("caption", "soft")
        self.target = Field(looks)
        self._target_title = TextLabel("caption", "soft")
        self._space = TextLabel("body", wrap=True)
        self.progress = ProgressLine(looks, thickness=_PROGRESS_THICKNESS)
        self.state = TextLabel("body", wrap=True)
        self._failure = TextLabel("body", wrap=True)
        self.primary = Button(looks, "primary", size="large")
        self.secondary = Button(looks, "secondary", size="large")
        self.cancel = Button(looks, "ghost", size="large")
        self._lay_out()
        self.primary.clicked.connect(self._on_primary_clicked)
        self.secondary.clicked.connect(self._on_secondary_clicked)
        self.cancel.clicked.connect(self.reject)
        self.finished.connect(self._on_finished)
        looks.changed.connect(self._show)

    def show_view(self, view: RepairView) -> None:
        """Show how far the repair is; what was typed stays."""
        before, self._view = self._view, view
        if before is None or before.plan != view.plan or before.asked != view.asked:
            self._show_plan(view)
            QTimer.singleShot(0, self, self._fit)  # new lines know their height a turn later
        self._show()
        if before is None or before.phase is not view.phase:
            self._focus_next()

    def mark_wrong(self, key: str) -> None:
        """Say that the value written for `key` does not fit."""
        field = self._fields.get(key)
        if field is not None and self._view is not None:
            right = next(right for right in self._view.asked if right.key == key)
            texts = self._looks.look.texts
            field.set_wrong(texts.text("ui.repair.wrong_value", key=key, most=right.most))
            field.setFocus()

    def closeEvent(self, event: QCloseEvent) -> None:
        self.reject()
        super().closeEvent(event)

    def _lay_out(self) -> None:
        self.setModal(True)
        self.setProperty("surface", "dialog")
        self.bytes.setProperty("style", "code")
        self.bytes.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.bytes.setTabChangesFocus(True)
        self._failure_box = tone_box("danger", column(self._failure))
        self._values_part = holder(self._values)
        self._plan_part = holder(
            column(
                holder(self._changes),
                self._bytes_title,
                self.bytes,
                self._target_title,
                self.target,
                self._space,
                gap=8,
            )
        )
        content = column(
            self._title,
            self._body,
            self._values_part,
            self._plan_part,
            self._failure_box,
            self.state,
            self.progress,
            row(self.cancel, None, self.secondary, self.primary),
            gap=12,
            margins=_MARGINS,
        )
        self.setLayout(content)

    def _show_plan(self, view: RepairView) -> None:
        look = self._looks.look
        _empty(self._changes)
        if view.plan is not None:
            for change in view.plan.changes:
                self._changes.addLayout(self._change_line(*change_words(change)))
            lines = [say(look.texts, byte_words(change)) for change in view.plan.byte_changes]
            parts = view.plan.parts if view.plan.is_split else ()
            lines += [f"{part.source.name} → {part.name}" for part in parts]
            self.bytes.setPlainText("\n".join(lines))
            if view.phase is RepairPhase.PLANNED and not self.target.text():
                self.target.set_text(str(view.plan.target))
        if tuple(right.key for right in view.asked) != tuple(self._fields):
            self._make_fields(view)

    def _make_fields(self, view: RepairView) -> None:
        _empty(self._values)
        self._fields = {}
        texts = self._looks.look.texts
        for right in view.asked:
            field, note = Field(self._looks), TextLabel("caption", "soft", wrap=True)
            name = TextLabel("label")
            name.setText(right.key)
            field.set_words(right.key)
            field.set_text("" if right.value is None else str(right.value))
            note.setText(say(texts, proposal_words(right)))
            field.edited.connect(self._on_edited)
            self._values.addLayout(column(name, field, note, gap=4))
            self._fields[right.key] = field
        if any(right.value is not None for right in view.asked):  # the bytes of a proposal are shown at once
            QTimer.singleShot(0, self, lambda: self.values_edited.emit(self._texts()))

    def _change_line(self, name: str, before: str, after: str) -> QLayout:
        key, old, new = TextLabel("label"), TextLabel("body", "faint"), TextLabel("label")
        key.setText(name)
        old.setText(before)
        new.setText(after)
        return row(key, None, old, IconLabel(self._looks, "right", "text_faint", 14), new)

    def _show(self) -> None:
        view = self._view
        if view is None:
            return
        look = self._looks.look
        phase = view.phase
        has_plan = view.plan is not None
        self.setWindowTitle(look.text("ui.repair.title", name=view.path.name))
        self._title.setText(self.windowTitle())
        self._body.setText(look.text(f"ui.repair.body.{'load' if view.loads_with_values else 'copy'}"))
        self._bytes_title.setText(look.text("ui.repair.bytes_title"))
        self.bytes.setAccessibleName(look.text("ui.repair.bytes_title"))
        self.bytes.setFixedHeight(round(_BYTES_HEIGHT * look.zoom))
        self._target_title.setText(look.text("ui.repair.target"))
        self.target.set_words(look.text("ui.repair.target"))
        self._plan_part.setVisible(has_plan and phase is not RepairPhase.IMPOSSIBLE)
        self._plan_part.setEnabled(phase is RepairPhase.PLANNED)
        self._values_part.setVisible(bool(self._fields) and phase is RepairPhase.PLANNED)
        if view.plan is not None:
            self._space.setText(say(look.texts, space_words(view.plan)))
        self._show_state(view)
        self._show_buttons(view)
        self._fit()

    def _show_state(self, view: RepairView) -> None:
        look, total = self._looks.look, view.plan.size_bytes if view.plan else 0
        self._failure_box.setVisible(view.failure is not None)
        if view.failure is not None:
            words = look.texts.finding(view.failure)
            self._failure.setText(f"{words.message}\n{words.action}")
        key = f"ui.repair.state.{view.phase.value}"
        if view.phase is RepairPhase.DONE and (view.check is None or view.check.decoded_tokens is None):
            key = "ui.repair.state.not_loaded"
        is_said = view.is_busy or view.phase is RepairPhase.DONE
        self.state.setVisible(is_said)
        if is_said:
            self.state.setText(look.text(key, done=view.done_bytes, total=total))
        self.progress.setVisible(view.is_busy)
        if view.phase is RepairPhase.WRITING and total:
            self.progress.show_fraction(view.done_bytes / total)
        elif view.is_busy:
            self.progress.show_fraction(None)
        else:
            self.progress.end()

    def _show_buttons(self, view: RepairView) -> None:
        look, phase = self._looks.look, view.phase
        primary = {
            RepairPhase.PLANNED: "ui.repair.load" if view.loads_with_values else "ui.repair.make",
            RepairPhase.DONE: "ui.repair.open",
            RepairPhase.BROKEN: "ui.repair.delete",
        }.get(phase)
        secondary = {
            RepairPhase.PLANNED: "ui.repair.make" if view.loads_with_values else None,
            RepairPhase.BROKEN: "ui.repair.keep",
        }.get(phase)
        for button, key in ((self.primary, primary), (self.secondary, secondary)):
            button.setVisible(key is not None)
            button.setText("" if key is None else look.text(key))
        self.primary.setDefault(True)
        is_ready = view.plan is None or view.phase is not RepairPhase.PLANNED or view.plan.is_ready
        self.primary.setEnabled(is_ready)
        self.secondary.setEnabled(self.primary.isEnabled())
        self.cancel.setText(look.text("ui.dialog.cancel" if view.is_busy else "ui.dialog.close"))
        self.cancel.setVisible(phase is not RepairPhase.BROKEN)

    def _focus_next(self) -> None:
        """Put the focus where a person goes on: a value that is asked for, or the button that means yes."""
        field = next(iter(self._fields.values()), None)
        if field is not None and field.isVisible():
            field.setFocus()
        elif self.primary.isVisible() and self.primary.isEnabled():
            self.primary.setFocus()
        else:
            self.cancel.setFocus()

    def _texts(self) -> Mapping[str, str]:
        return {key: field.text() for key, field in self._fields.items()}

    def _on_edited(self, _text: str) -> None:
        for field in self._fields.values():
            field.set_wrong(None)
        self.values_edited.emit(self._texts())

    def _on_primary_clicked(self) -> None:
        view = self._view
        if view is None:
            return
        if view.phase is RepairPhase.PLANNED and view.loads_with_values:
            self.load_requested.emit(self._texts())
        elif view.phase is RepairPhase.PLANNED:
            self._make()
        elif view.phase is RepairPhase.DONE and view.plan is not None:
            self.open_requested.emit(view.plan.model)
            self.accept()
        elif view.phase is RepairPhase.BROKEN:
            self.delete_requested.emit()
            self.accept()

    def _on_secondary_clicked(self) -> None:
        if self._view is not None and self._view.phase is RepairPhase.PLANNED:
            self._make()
        else:
            self.accept()

    def _make(self) -> None:
        if self._view is not None:
            target = self._view.path.parent / Path(self.target.text()).expanduser()
            self.make_requested.emit(self._texts(), target)

    def _on_finished(self) -> None:
        if self._view is not None and self._view.is_busy:
            self.cancelled.emit()
        self.deleteLater()

    def _fit(self) -> None:
        layout = self.layout()
        if layout is not None:
            self.ensurePolished()
            layout.invalidate()
            width = max(round(_WIDTH * self._looks.look.zoom), layout.totalMinimumSize().width())
            self.setFixedSize(width, layout.totalHeightForWidth(width))


def _empty(layout: QLayout) -> None:
    while (item := layout.takeAt(0)) is not None:
        if (widget := item.widget()) is not None:
            widget.hide()
            widget.deleteLater()
        elif (inner := item.layout()) is not None:
            _empty(inner)
