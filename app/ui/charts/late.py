"""pyqtgraph, imported behind the first paint: that takes a tenth of a second, or two."""

import threading
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from app.ui.charts.plotted import PlottedCurves

_importing: Final = threading.Lock()
_MODULES: Final = ("QtCore", "QtGui", "QtWidgets", "QtSvg", "QtOpenGLWidgets", "QtTest")
"""What pyqtgraph looks at whole."""


def make_types() -> Iterator[None]:
    """Have Qt's classes made one by one. GUI thread, before `warm_up`.

    PySide makes a class when its name is first asked for, and pyqtgraph asks for all of them: a window that
    paints with a class that another thread has half made ends in a segmentation fault.
    """
    for name in _MODULES:
        try:
            module = import_module(f"PySide6.{name}")
        except ImportError:  # not part of this installation: pyqtgraph does without it too
            continue
        for member in dir(module):
            getattr(module, member)
            yield


def warm_up() -> None:
    """Import it, in any thread, when `make_types` is through."""
    with _importing:
        import app.ui.charts.plotted  # noqa: F401 late is what this module is for


def plotted_curves() -> "type[PlottedCurves] | None":
    """Return what draws curves; None while another thread imports it: ask again a frame later."""
    if not _importing.acquire(blocking=False):
        return None
    try:
        from app.ui.charts.plotted import PlottedCurves
    finally:
        _importing.release()
    return PlottedCurves
