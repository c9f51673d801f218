"""A message of the person while it is changed, in its own place."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QWidget

from app.ui.markdown.part import Part
from app.ui.theme.look import LookSource
from app.ui.theme.style_sheet import restyle
from app.ui.views.message_box import MessageBox
from app.ui.widgets.buttons import Button
from app.ui.widgets.layouts import column, row


class MessageEditor(Part):
    """A box with Send and Cancel; Enter sends, Esc leaves everything as it was.

    Signals:
        accepted: the new text.
        cancelled: nothing is to change.
        height_changed: `fit` gives another height now.
    """

    accepted = Signal(str)
    cancelled = Signal()
    height_changed = Signal()

    def __init__(self, looks: LookSource, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._frame = QFrame(self)
        self._frame.setProperty("surface", "composer")
        self._box = MessageBox(looks)
        self._box.setAccessibleName(looks.look.text("ui.chat.edit_box"))
        self._box.setPlainText(text)
        cancel = Button(looks, "secondary", size="compact")
        cancel.setText(looks.look.text("ui.chat.cancel_edit"))
        cancel.clicked.connect(self.cancelled)
        send = Button(looks, "primary", size="compact")
        send.setText(looks.look.text("ui.chat.send_edit"))
        send.clicked.connect(self._on_submitted)
        self._frame.setLayout(column(self._box, row(None, cancel, send), gap=6, margins=(14, 8, 10, 10)))
        self._box.submitted.connect(self._on_submitted)
        self._box.escaped.connect(self.cancelled)
        self._box.textChanged.connect(self.height_changed)
        self._box.focus_changed.connect(self._on_focus_changed)

    @property
    def text(self) -> str:
        """What is written now."""
        return self._box.toPlainText()

    def start(self) -> None:
        """Take the keyboard."""
        self._box.setFocus()
        self._box.moveCursor(self._box.textCursor().MoveOperation.End)

    def fit(self, width: int) -> int:
        self._frame.resize(width, self._frame.height())
        layout = self._frame.layout()
        height = layout.sizeHint().height() if layout is not None else 0
        self._frame.setGeometry(0, 0, width, height)
        self.resize(width, height)
        return height

    def _on_submitted(self) -> None:
        if self.text.strip():
            self.accepted.emit(self.text.strip())

    def _on_focus_changed(self, has_focus: bool) -> None:
        self._frame.setProperty("focused", has_focus)
        restyle(self._frame)
