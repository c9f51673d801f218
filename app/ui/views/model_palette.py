"""The palette under the model's name: recent and found models, search, and the way to a file."""

from typing import Final

from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QListView, QWidget

from app.ui.compositing import has_compositing
from app.ui.theme.look import LookSource
from app.ui.views.palette_rows import FileRow, PaletteDelegate, PaletteModel, PaletteRows, palette_rows
from app.ui.widgets.controls import SearchField
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import column

WIDTH: Final = 460
HEIGHT_MOST: Final = 460
CORNER: Final = 12


class ModelPalette(QWidget):
    """Opens under the picker; the arrows move, Enter picks, Escape closes.

    Signals:
        picked: `Path` of the chosen model.
        file_requested: the system's file dialog is wanted.
    """

    picked = Signal(object)
    file_requested = Signal()

    def __init__(
        self, looks: LookSource, parent: QWidget | None = None, *, is_see_through: bool | None = None
    ) -> None:
        """Make it, closed.

        Args:
            is_see_through: Whether windows can be, which rounds its corners; None asks the system.
        """
        super().__init__(parent, Qt.WindowType.Popup | Qt.WindowType.FramelessWindowHint)
        self._looks = looks
        self._models: tuple[PaletteModel, ...] = ()
        self.search = SearchField(looks)
        self.rows = PaletteRows(looks, self)
        self.list = QListView()
        self._nothing = TextLabel("body", "faint", wrap=True)
        self._keys = TextLabel("caption", "faint")
        is_rounded = has_compositing() if is_see_through is None else is_see_through
        self._corner = CORNER if is_rounded else 0
        self.setAttribute(Qt.WidgetAttribute.WA_TranslucentBackground, is_rounded)
        self._lay_out()
        looks.changed.connect(self._apply_look)
        self._apply_look()

    def show_models(self, models: tuple[PaletteModel, ...]) -> None:
        """Set what can be picked."""
        self._models = models
        self._show_rows()

    def open_at(self, anchor: QWidget) -> None:
        """Open below `anchor` with an empty search, the first model selected."""
        self.search.clear()
        self._show_rows()
        self._size_to_rows()
        corner = anchor.mapToGlobal(QPoint(0, anchor.height() + 4))
        self.move(corner)
        self.show()
        self.search.setFocus(Qt.FocusReason.PopupFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_press = event.type() is QEvent.Type.KeyPress
        if is_press and isinstance(event, QKeyEvent) and self._is_key(event.key()):
            return True
        return super().eventFilter(watched, event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        look = self._looks.look
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(look.color("border_strong"), 1))
        painter.setBrush(look.color("raised"))
        painter.drawRoundedRect(
            QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), self._corner, self._corner
        )

    def _lay_out(self) -> None:
        self.list.setModel(self.rows)
        self.list.setItemDelegate(PaletteDelegate(self._looks, self.list))
        self.list.setProperty("surface", "plain")
        self.list.setFrameShape(QListView.Shape.NoFrame)
        self.list.viewport().setAutoFillBackground(False)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setMouseTracking(True)
        self.list.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.list.clicked.connect(self._pick)
        self.search.textChanged.connect(self._show_rows)
        for widget in (self.search, self.list):
            widget.installEventFilter(self)
        layout = column(self.search, self._nothing, gap=8, margins=(12, 12, 12, 10))
        layout.addWidget(self.list, 1)
        layout.addWidget(self._keys)
        self.setLayout(layout)

    def _is_key(self, key: int) -> bool:
        match key:
            case Qt.Key.Key_Down:
                self._move(1)
            case Qt.Key.Key_Up:
                self._move(-1)
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self._pick(self.list.currentIndex())
            case Qt.Key.Key_Escape:
                self.close()
            case _:
                return False
        return True

    def _move(self, step: int) -> None:
        number = self.list.currentIndex().row() + step
        while 0 <= number < self.rows.rowCount():
            index = self.rows.index(number)
            if index.flags() & Qt.ItemFlag.ItemIsEnabled:
                self.list.setCurrentIndex(index)
                return
            number += step

    def _pick(self, index: QModelIndex) -> None:
        chosen = self.rows.row_at(index)
        if isinstance(chosen, PaletteModel):
            self.close()
            self.picked.emit(chosen.path)
        elif isinstance(chosen, FileRow):
            self.close()
            self.file_requested.emit()

    def _show_rows(self) -> None:
        look, words = self._looks.look, self.search.text().strip()
        self.rows.set_rows(palette_rows(self._models, words))
        self.list.setCurrentIndex(QModelIndex())
        self._move(1)
        is_empty = self.rows.rowCount() == 1
        key = "ui.palette.nothing_found" if self._models else "ui.palette.empty"
        self._nothing.setText(look.text(key, words=words))
        self._nothing.setVisible(is_empty)

    def _size_to_rows(self) -> None:
        zoom = max(1.0, self._looks.look.zoom)
        rows = sum(self.list.sizeHintForRow(number) for number in range(self.rows.rowCount()))
        self._nothing.adjustSize()
        others = self.search.sizeHint().height() + self._keys.sizeHint().height() + 46
        others += self._nothing.sizeHint().height() + 8 if not self._nothing.isHidden() else 0
        self.resize(round(WIDTH * zoom), min(round(HEIGHT_MOST * zoom), rows + others))

    def _apply_look(self) -> None:
        look = self._looks.look
        self.setAccessibleName(look.text("ui.palette.name"))
        self.setWindowTitle(look.text("ui.palette.name"))
        self.search.set_words(look.text("ui.palette.search"))
        self.list.setAccessibleName(look.text("ui.palette.list"))
        self._keys.setText(look.text("ui.palette.keys"))
        self._show_rows()
        self.update()
