"""What every test of the window gets: no screen needed, real fonts, a look, and no warning of Qt unheard."""

import gc
import os
from collections.abc import Callable, Iterator

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import pytest
from PySide6.QtCore import QEvent, QMessageLogContext, Qt, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.texts import Texts
from app.ui.theme.fonts import load_fonts
from app.ui.theme.look import Look, LookSource
from app.ui.theme.style_sheet import apply_look
from tests.gui.look_names import LOOK_NAMES as LOOK_NAMES
from tests.gui.look_names import LOOKS

HARMLESS = (
    "This plugin does not support propagateSizeHints()",
    "This plugin does not support raise()",
    "This plugin does not support grabbing the keyboard",
)
"""What the platform without a screen says on its own."""


@pytest.fixture(autouse=True)
def no_garbage_left() -> Iterator[None]:
    """Collect after each test: what one test leaves must not cost the next one's time."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def qt_warnings() -> Iterator[list[str]]:
    """Fail the test that makes Qt warn."""
    heard: list[str] = []

    def hear(kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
        if kind is not QtMsgType.QtDebugMsg and message not in HARMLESS:
            heard.append(message)

    before = qInstallMessageHandler(hear)
    yield heard
    qInstallMessageHandler(before)
    assert heard == []


@pytest.fixture(scope="session")
def fonts(qapp: QApplication) -> None:
    """Make the bundled fonts known once."""
    assert load_fonts()


@pytest.fixture
def looks(request: pytest.FixtureRequest, qapp: QApplication, fonts: None) -> Iterator[LookSource]:
    """The look in force, applied to the application at every change; light English unless parametrised."""
    colors, language = LOOKS[getattr(request, "param", "light-en")]
    source = LookSource(Look(colors, Texts(language)))
    source.changed.connect(lambda: apply_look(qapp, source.look))
    apply_look(qapp, source.look)
    yield source
    source.changed.disconnect()


@pytest.fixture
def show(qtbot: QtBot) -> Iterator[Callable[[QWidget], QWidget]]:
    """Return a function that shows a widget, waits until it is there, and closes it after the test."""
    shown: list[QWidget] = []  # Qt would let go of a page that only the test's callee holds

    def show_widget(widget: QWidget) -> QWidget:
        shown.append(widget)
        qtbot.addWidget(widget)
        if widget.sizeHint().isEmpty() and not widget.testAttribute(Qt.WidgetAttribute.WA_Resized):
            widget.resize(800, 600)  # a window without area is never exposed
        with qtbot.waitExposed(widget):
            widget.show()
        widget.activateWindow()
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        return widget

    yield show_widget
    shown.clear()
