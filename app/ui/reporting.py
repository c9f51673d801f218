"""The report of the model, made of all that the window knows."""

from app.ui.model_view import ModelView
from app.ui.parts import Parts
from app.ui.report import model_report


def report_text(parts: Parts, view: ModelView) -> str:
    """Return the report of a view, without names of persons."""
    return model_report(view, parts.machine.hardware, parts.looks.look.texts, parts.log_lines())


def copy_report(parts: Parts, view: ModelView) -> None:
    """Put the report into the clipboard and say so."""
    parts.desktop.copy(report_text(parts, view))
    parts.window.show_toast(parts.looks.look.text("ui.report.copied"))
