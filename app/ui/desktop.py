"""What the window asks of the desktop around it."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QFileDialog, QWidget


class Desktop(Protocol):
    """File dialogs, folders, links, clipboard. Adapter: QtDesktop; in tests a fake. GUI thread."""

    def choose_file(
        self, title: str, pattern: str, folder: Path | None, on_chosen: Callable[[Path], None]
    ) -> None:
        """Let the person choose a file; `on_chosen` is called later, or never."""
        ...

    def choose_folder(self, title: str, folder: Path | None, on_chosen: Callable[[Path], None]) -> None:
        """Let the person choose a folder; `on_chosen` is called later, or never."""
        ...

    def open_folder(self, folder: Path) -> None:
        """Show a folder in the file manager."""
        ...

    def open_link(self, address: str) -> None:
        """Open an address that the person clicked in the browser."""
        ...

    def copy(self, text: str) -> None:
        """Put text into the clipboard."""
        ...


class QtDesktop:
    """The real one."""

    def __init__(self, parent: QWidget) -> None:
        """Dialogs belong to `parent`."""
        self._parent = parent

    def choose_file(
        self, title: str, pattern: str, folder: Path | None, on_chosen: Callable[[Path], None]
    ) -> None:
        """Open the system's file dialog without blocking."""
        dialog = QFileDialog(self._parent, title, str(folder or ""), pattern)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        _open(dialog, on_chosen)

    def choose_folder(self, title: str, folder: Path | None, on_chosen: Callable[[Path], None]) -> None:
        """Open the system's dialog for folders without blocking."""
        dialog = QFileDialog(self._parent, title, str(folder or ""))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        _open(dialog, on_chosen)

    def open_folder(self, folder: Path) -> None:
        """Show a folder in the file manager."""
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))

    def open_link(self, address: str) -> None:
        """Open http, https or mailto; nothing else a model may have written."""
        url = QUrl(address)
        if url.scheme().lower() in ("http", "https", "mailto"):
            QDesktopServices.openUrl(url)

    def copy(self, text: str) -> None:
        """Put text into the clipboard."""
        QGuiApplication.clipboard().setText(text)


def _open(dialog: QFileDialog, on_chosen: Callable[[Path], None]) -> None:
    dialog.fileSelected.connect(lambda name: on_chosen(Path(name)))
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
