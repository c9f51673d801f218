"""Links a model wrote open only what a browser or mail program is for."""

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.ui.desktop import QtDesktop


@pytest.mark.parametrize(
    ("address", "is_opened"),
    [
        ("https://example.org/a", True),
        ("HTTP://example.org", True),
        ("mailto:someone@example.org", True),
        ("file:///etc/passwd", False),
        ("javascript:alert(1)", False),
        ("/etc/passwd", False),
        ("smb://host/share", False),
    ],
)
def test_only_web_and_mail_links_are_opened(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, address: str, is_opened: bool
) -> None:
    opened: list[str] = []

    def open_url(url: QUrl) -> bool:
        opened.append(url.toString())
        return True

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    parent = QWidget()
    qtbot.addWidget(parent)
    QtDesktop(parent).open_link(address)
    assert bool(opened) is is_opened
