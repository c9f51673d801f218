"""Tells of a failure of Moxie itself, with a report to copy."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication, QTextOption
from PySide6.QtWidgets import QDialog, QPlainTextEdit, QWidget

from app.ui.theme.look import LookSource
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import TextLabel
from app.ui.widgets.layouts import column, row

_SIZE = (640, 400)
_MARGINS = (22, 18, 22, 20)


class CrashDialog(QDialog):
    """Shows reports, the newest last; the window behind it goes on.

    Signals:
        folder_requested: the person wants to see the logs.
    """

    folder_requested = Signal()

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._title = TextLabel("title", wrap=True)
        self._message = TextLabel("body", "soft", wrap=True)
        self._report = QPlainTextEdit(readOnly=True)
        self._folder = Button(looks, "ghost", "folder", size="large")
        self._copy = Button(looks, "primary", "copy", size="large")
        self._close = Button(looks, "secondary", size="large")
        self.setProperty("surface", "dialog")
        self._report.setProperty("style", "code")
        self._report.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self._copy.clicked.connect(self._on_copy_clicked)
        self._close.clicked.connect(self.accept)
        self._folder.clicked.connect(self.folder_requested)
        buttons = row(self._folder, None, self._close, self._copy)
        self.setLayout(column(self._title, self._message, self._report, buttons, gap=12, margins=_MARGINS))
        self._copy.setDefault(True)
        self._set_texts()
        looks.changed.connect(self._set_texts)

    def add_report(self, report: str) -> None:
        """Show one more report; opens the dialog when it is closed."""
        if not self.isVisible():
            self._report.clear()
            self._set_texts()
        self._report.appendPlainText(report)
        self.show()

    def _on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText(self._report.toPlainText())
        self._copy.setText(self._looks.look.text("ui.crash.copied"))

    def _set_texts(self) -> None:
        look = self._looks.look
        self.setWindowTitle(look.text("ui.crash.title"))
        self._title.setText(look.text("ui.crash.title"))
        self._message.setText(look.text("ui.crash.message"))
        self._folder.setText(look.text("ui.crash.open_folder"))
        self._copy.setText(look.text("ui.crash.copy"))
        self._close.setText(look.text("ui.crash.close"))
        self._report.setAccessibleName(look.text("ui.crash.report"))
        self.resize(*(round(length * look.zoom) for length in _SIZE))
