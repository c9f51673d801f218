"""Qt's own words follow the language of the window."""

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.ui.qt_words import QtWords


def cancel() -> str:
    return QApplication.translate("QPlatformTheme", "Cancel")


def test_qts_own_words_follow_the_language(qtbot: QtBot) -> None:
    application = QApplication.instance()
    assert application is not None
    words = QtWords(application)
    words.set_language("zh_CN")
    assert cancel() == "取消"
    words.set_language("en")
    assert cancel() == "Cancel"
