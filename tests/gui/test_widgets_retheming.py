"""All common widgets live through changes of theme, language and text size, and leave nothing behind."""

import gc
import weakref
from collections.abc import Callable

import pytest
from PySide6.QtCore import SIGNAL, QEvent, QObject
from PySide6.QtWidgets import QApplication, QWidget

from app.findings import FindingCode, error
from app.texts import LANGUAGES, Texts
from app.ui.theme.look import Look, LookSource
from app.ui.theme.tokens import DARK, LIGHT
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.controls import MarkSlider, Segmented, Switch
from app.ui.widgets.dialogs import Question, QuestionDialog, TextDialog
from app.ui.widgets.failure_card import FailureCard
from app.ui.widgets.fields import Choice, Field, SearchField
from app.ui.widgets.findings_view import FindingRow, FindingsList
from app.ui.widgets.labels import IconLabel
from app.ui.widgets.layouts import column, holder
from app.ui.widgets.toast import Toast
from tests.gui.page_parts import parts

FINDING = error(FindingCode.FILE_EMPTY, file="qwen3.gguf")
Make = Callable[[LookSource], QWidget]


def _findings(looks: LookSource) -> QWidget:
    findings = FindingsList(looks)
    findings.show_findings((FINDING, FINDING), {FindingCode.FILE_EMPTY: "Download"})
    findings.show_findings((), {})
    findings.show_findings((FINDING,), {})
    return findings


def _failure(looks: LookSource) -> QWidget:
    card = FailureCard(looks)
    card.show_failure(FINDING, "figures", "Load", "Other", "price", "details")
    return card


def _segmented(looks: LookSource) -> QWidget:
    choice = Segmented(looks)
    choice.set_items([("a", "A"), ("b", "B")])
    choice.set_items([("c", "C"), ("d", "D"), ("e", "E")])
    return choice


WIDGETS: dict[str, Make] = {
    "button": lambda looks: Button(looks, "primary", "play"),
    "icon_button": lambda looks: IconButton(looks, "copy"),
    "icon": lambda looks: IconLabel(looks, "info"),
    "segmented": _segmented,
    "switch": Switch,
    "slider": MarkSlider,
    "search": SearchField,
    "field": Field,
    "choice": Choice,
    "finding": FindingRow,
    "findings": _findings,
    "failure": _failure,
    "toast": Toast,
    "question": lambda looks: QuestionDialog(looks, Question("Reload?", "body", "Reload", kept=("chat",))),
    "text": lambda looks: TextDialog(looks, "Report", "text"),
}
STYLED_ONLY = ("segmented", "field")
"""The style sheet alone gives them another look."""


@pytest.mark.parametrize("name", WIDGETS)
def test_a_widget_that_is_gone_hears_no_change_and_stays_nowhere(looks: LookSource, name: str) -> None:
    listeners = _listeners(looks)
    widget = WIDGETS[name](looks)
    alive = weakref.ref(widget)
    assert (_listeners(looks) > listeners) is (name not in STYLED_ONLY)
    looks.set_look(Look(DARK, Texts("zh_CN"), 1.5))
    widget.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    del widget
    gc.collect()
    assert alive() is None
    assert _listeners(looks) == listeners
    looks.set_look(Look(LIGHT, Texts("en")))


def test_changing_the_look_again_and_again_makes_no_new_objects(
    looks: LookSource, show: Callable[[QWidget], QWidget]
) -> None:
    made = [make(looks) for name, make in WIDGETS.items() if name not in ("question", "text")]
    page = show(holder(column(*made)))
    count = len(parts(page, QWidget))
    objects = len(list(page.findChildren(QObject)))
    for turn in range(8):
        looks.set_look(Look((LIGHT, DARK)[turn % 2], Texts(LANGUAGES[turn // 2 % 2]), 1.0 + turn % 3 / 2))
        QApplication.processEvents()
    assert len(parts(page, QWidget)) == count
    assert len(list(page.findChildren(QObject))) == objects


def _listeners(looks: LookSource) -> int:
    return looks.receivers(SIGNAL("changed()"))  # type: ignore[arg-type]  # the stub asks for bytes, Qt for this
