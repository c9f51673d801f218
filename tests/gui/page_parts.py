"""Finds the parts of a page, and text that it cuts off."""

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from PySide6.QtWidgets import QAbstractButton, QLabel, QWidget

from app.ui.widgets.labels import ElidedLabel

Kind = TypeVar("Kind", bound=QWidget)


def parts(page: QWidget, kind: type[Kind]) -> list[Kind]:
    """Return all widgets of `kind` in `page`, in the order they were made."""
    children: Iterable[Any] = page.findChildren(QWidget)
    return [child for child in children if isinstance(child, kind)]


def clipped(page: QWidget) -> list[str]:
    """Return the texts of visible labels and buttons of `page` that do not fit where they are."""
    return [text for widget, text in _texts(page) if not _fits(widget)]


def _texts(page: QWidget) -> Iterator[tuple[QWidget, str]]:
    for widget in parts(page, QWidget):
        if not isinstance(widget, QLabel | QAbstractButton) or isinstance(widget, ElidedLabel):
            continue
        if widget.text() and widget.isVisible():
            yield widget, widget.text()


def _fits(widget: QWidget) -> bool:
    parent = widget.parentWidget()
    if parent is not None and not parent.rect().contains(widget.geometry()):
        return False
    if widget.hasHeightForWidth():
        return widget.height() >= widget.heightForWidth(widget.width())
    needed = widget.minimumSizeHint()
    return widget.width() >= needed.width() and widget.height() >= needed.height()
