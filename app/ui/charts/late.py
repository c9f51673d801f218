"""pyqtgraph, imported behind the first paint: that takes a tenth of a second, or two."""

import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from app.ui.charts.plotted import PlottedCurves

_importing: Final = threading.Lock()


def warm_up() -> None:
    """Import it, in any thread."""
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
