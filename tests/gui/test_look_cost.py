"""Another look comes at once: every widget is styled a fixed number of times, however deep it lies."""

import time
from collections.abc import Callable

from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from app.texts import Texts
from app.ui.theme.look import Look, LookSource
from app.ui.theme.tokens import DARK
from app.ui.views.chat_view import ChatView
from app.ui.widgets.labels import TextLabel
from tests.gui.chat_texts import conversation

DEPTH = 12
WIDTH = 20
STYLED_MAX = 3
SWITCH_SECONDS = 0.3
SLACK = 3


class CountingLabel(TextLabel):
    """Counts how often it is styled."""

    def __init__(self) -> None:
        super().__init__()
        self.styled = 0

    def changeEvent(self, event: QEvent) -> None:
        self.styled += event.type() is QEvent.Type.StyleChange
        super().changeEvent(event)


def nested(labels: list[CountingLabel]) -> QWidget:
    """Return widgets in widgets, with some words on every level."""
    inner = QWidget()
    for _ in range(DEPTH):
        outer = QWidget()
        layout = QVBoxLayout(outer)
        layout.addWidget(inner)
        for _ in range(WIDTH):
            labels.append(CountingLabel())
            layout.addWidget(labels[-1])
        inner = outer
    return inner


def test_a_widget_deep_inside_is_styled_no_more_often_than_one_outside(
    looks: LookSource, show: Callable[[QWidget], QWidget]
) -> None:
    labels: list[CountingLabel] = []
    show(nested(labels))
    for label in labels:
        label.styled = 0
    looks.set_look(Look(DARK, Texts("en"), 1.6))
    counts = {label.styled for label in labels}
    assert counts and min(counts) >= 1
    assert max(counts) <= STYLED_MAX, counts


def test_a_long_conversation_changes_its_look_at_once(
    looks: LookSource, show: Callable[[QWidget], QWidget]
) -> None:
    view = ChatView(looks)
    view.resize(800, 700)
    show(view)
    view.show_items(conversation(2_000))
    QApplication.processEvents()
    started = time.thread_time()
    looks.set_look(Look(DARK, Texts("en"), 1.6))
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    QApplication.processEvents()
    assert time.thread_time() - started <= SWITCH_SECONDS * SLACK
