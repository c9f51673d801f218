"""Judged facts as rows: sign, sentence, what helps, and at most one button that does it."""

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.findings import Finding, FindingCode, Severity
from app.ui.theme.look import LookSource
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import IconLabel, TextLabel
from app.ui.widgets.layouts import column, row, rule
from app.ui.window_actions import action_in_window

SIGNS: Mapping[Severity, tuple[str, str]] = {
    Severity.ERROR: ("error", "danger_text"),
    Severity.WARNING: ("warning", "warning_text"),
    Severity.NOTE: ("info", "info_text"),
}
"""Icon and palette colour of a severity: told by shape as well."""

_GRAVEST_FIRST = (Severity.ERROR, Severity.WARNING, Severity.NOTE)


class FindingRow(QWidget):
    """One finding.

    Signals:
        action_requested: the Finding whose button was pressed.
    """

    action_requested = Signal(object)

    def __init__(self, looks: LookSource, *, narrow: bool = False, keeps_help: bool = False) -> None:
        """Make one; a `narrow` one has its button below the words, in place of what would help.

        Args:
            keeps_help: The button only leads to the place where what helps is done: so it is said as well.
        """
        super().__init__()
        self._keeps_help = keeps_help
        self._looks = looks
        self._is_narrow = narrow
        self._finding: Finding | None = None
        self._sign = IconLabel(looks, "info")
        self._message = TextLabel("body", wrap=True)
        self._help = TextLabel("caption", "soft", wrap=True)
        self._button = Button(looks, "secondary", size="compact")
        self._button.clicked.connect(self._on_clicked)
        words = column(self._message, self._help, None, gap=2)
        layout = row(column(self._sign, None), words, gap=10)
        if narrow:
            words.insertLayout(2, row(self._button, None, margins=(0, 4, 0, 0)))
        else:
            layout.addLayout(column(self._button, None))
        layout.setStretch(1, 1)
        self.setLayout(layout)
        looks.changed.connect(self._set_texts)

    def show_finding(self, finding: Finding, action_text: str | None) -> None:
        """Show `finding`; `action_text` names the button, None shows none."""
        self._finding = finding
        self._button.setText(action_text or "")
        self._button.setVisible(action_text is not None)
        self._sign.set_icon(*SIGNS[finding.severity])
        self._set_texts()

    def show_passed(self, text: str, detail: str = "") -> None:
        """Show that something is in order; `detail` is the evidence."""
        self._finding = None
        self._button.hide()
        self._sign.set_icon("ok", "success_text")
        self._message.setText(text)
        self._message.setAccessibleName(text)
        self._help.setText(detail)
        self._help.setVisible(bool(detail))

    def _set_texts(self) -> None:
        if self._finding is None:
            return
        look = self._looks.look
        words = look.texts.finding(self._finding)
        self._message.setText(words.message)
        action = action_in_window(look.texts, self._finding)
        self._help.setText(action)
        has_button = bool(self._button.text())
        is_replaced = self._is_narrow and has_button and not self._keeps_help
        self._help.setVisible(bool(action) and not is_replaced)
        severity = look.text(f"severity.{self._finding.severity.value}")
        self._message.setAccessibleName(f"{severity}: {words.message}")
        self._button.setAccessibleDescription(words.message)

    def _on_clicked(self) -> None:
        if self._finding is not None:
            self.action_requested.emit(self._finding)


class FindingsList(QWidget):
    """Findings, the gravest first; one line says so where there is none.

    Signals:
        action_requested: the Finding whose button was pressed.
    """

    action_requested = Signal(object)

    def __init__(self, looks: LookSource, *, narrow: bool = False, keeps_help: bool = False) -> None:
        """Make an empty one; `narrow` is for places where a button beside the words leaves them no room."""
        super().__init__()
        self._keeps_help = keeps_help
        self._looks = looks
        self._is_narrow = narrow
        self._shown: tuple[Finding, ...] | None = None
        self._rows: list[FindingRow] = []
        self._layout: QVBoxLayout = column(gap=10)
        self.setLayout(self._layout)
        looks.changed.connect(self._set_texts)

    def show_findings(self, findings: tuple[Finding, ...], action_texts: Mapping[FindingCode, str]) -> None:
        """Show `findings`; those with an entry in `action_texts` get a button of that name."""
        self._shown = tuple(sorted(findings, key=lambda finding: _GRAVEST_FIRST.index(finding.severity)))
        self._make_rows(max(1, len(self._shown)))
        for line, finding in zip(self._rows, self._shown, strict=False):
            line.show_finding(finding, action_texts.get(finding.code))
        self._set_texts()

    def _make_rows(self, count: int) -> None:
        while len(self._rows) < count:
            line = FindingRow(self._looks, narrow=self._is_narrow, keeps_help=self._keeps_help)
            line.action_requested.connect(self.action_requested)
            if self._rows:
                self._layout.addWidget(rule())
            self._layout.addWidget(line)
            self._rows.append(line)
        while len(self._rows) > count:
            self._rows.pop()
            for _ in range(2):  # the row and the line above it
                item = self._layout.takeAt(self._layout.count() - 1)
                if widget := item.widget():
                    widget.hide()
                    widget.deleteLater()

    def _set_texts(self) -> None:
        if self._shown == ():
            self._rows[0].show_passed(self._looks.look.text("ui.findings.none"))
