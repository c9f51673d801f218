"""How a scrolled list of widgets follows keys, the focus and a selection that leaves it."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QScrollBar, QWidget


def scroll_by_key(bar: QScrollBar, key: int, step: int) -> bool:
    """Scroll as a key says; False when it says nothing about scrolling. End is the list's own matter."""
    steps: dict[int, int] = {
        Qt.Key.Key_Up: -step,
        Qt.Key.Key_Down: step,
        Qt.Key.Key_PageUp: -bar.pageStep(),
        Qt.Key.Key_PageDown: bar.pageStep(),
        Qt.Key.Key_Home: -bar.maximum(),
    }
    if key not in steps:
        return False
    bar.setValue(bar.value() + steps[key])
    return True


def bring_into_sight(bar: QScrollBar, viewport: QWidget, control: QWidget, margin: int) -> None:
    """Scroll until a control is seen whole; one that is higher than the view stays where it is."""
    if control.height() >= viewport.height():
        return
    top = control.mapTo(viewport, control.rect().topLeft()).y()
    bottom = top + control.height()
    if top < 0:
        bar.setValue(bar.value() + top - margin)
    elif bottom > viewport.height():
        bar.setValue(bar.value() + bottom - viewport.height() + margin)


def scroll_after(bar: QScrollBar, viewport: QWidget, global_point: QPoint) -> None:
    """Scroll while text is selected beyond the view."""
    y = viewport.mapFromGlobal(global_point).y()
    beyond = min(0, y) + max(0, y - viewport.height())
    if beyond:
        bar.setValue(bar.value() + beyond)
