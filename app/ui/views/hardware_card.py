"""The card that says what this PC has, what is wrong with it, and what helps."""

from collections.abc import Collection
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.findings import Finding, Severity
from app.hardware.facts import HardwareFacts
from app.ui.theme.look import LookSource
from app.ui.views.hardware_rows import HardwareRow, hardware_rows
from app.ui.widgets.buttons import Button
from app.ui.widgets.findings_view import FindingsList
from app.ui.widgets.labels import Chip, ElidedLabel, IconLabel, TextLabel
from app.ui.widgets.layouts import card, column, row, rule

SHOWN_FINDINGS: Final = 3
"""The gravest; the report has all."""


class HardwareCard(QWidget):
    """A line per part of the machine, with a dash until its probe has answered; then what was found.

    Signals:
        report_requested: the machine is to be copied as text.
        settings_requested: GPUs are to be chosen.
    """

    report_requested = Signal()
    settings_requested = Signal()

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._hardware = HardwareFacts(None)
        self._excluded: Collection[str] = ()
        self._of_engine: tuple[Finding, ...] = ()
        self._is_final = False
        self._shown: list[HardwareLine] = []
        self._title = TextLabel("subtitle")
        self._lines: QVBoxLayout = column(gap=6)
        self.findings = FindingsList(looks, narrow=True)
        self.copy_button = Button(looks, "link", "copy", size="compact")
        self.choose_button = Button(looks, "link", "settings", size="compact")
        foot = row(self.copy_button, self.choose_button, None, gap=12)
        self.setLayout(
            column(card(column(self._title, self._lines, self.findings, foot, None, gap=8), 16), gap=0)
        )
        self.copy_button.clicked.connect(self.report_requested)
        self.choose_button.clicked.connect(self.settings_requested)
        looks.changed.connect(self._show)
        self._show()

    @property
    def lines(self) -> tuple["HardwareLine", ...]:
        """What is shown, line by line."""
        return tuple(self._shown)

    def show_arriving(self, hardware: HardwareFacts, excluded: Collection[str] = ()) -> None:
        """Show the parts that are known so far; the others keep their dash."""
        if not self._is_final:
            self._hardware, self._excluded = hardware, excluded
            self._show()

    def show_hardware(self, hardware: HardwareFacts | None, excluded: Collection[str] = ()) -> None:
        """Show the machine; None = not looked at yet."""
        self._hardware, self._excluded = hardware or HardwareFacts(None), excluded
        self._is_final = hardware is not None
        self._show()

    def show_engine_findings(self, findings: tuple[Finding, ...]) -> None:
        """Show what keeps the chosen engine and this machine from working together."""
        self._of_engine = findings
        self._show()

    def _show(self) -> None:
        look = self._looks.look
        self._title.setText(look.text("ui.first_run.this_pc"))
        self.copy_button.setText(look.text("ui.hardware.copy_report"))
        self.choose_button.setText(look.text("ui.hardware.choose_gpus"))
        self.choose_button.setVisible(bool(self._hardware.gpus))
        self._show_lines(hardware_rows(look, self._hardware, self._excluded, is_final=self._is_final))
        graver = [Severity.ERROR, Severity.WARNING]
        found = [f for f in (*self._hardware.findings, *self._of_engine) if f.severity in graver]
        found.sort(key=lambda finding: graver.index(finding.severity))
        self.findings.setVisible(bool(found))
        if found:
            self.findings.show_findings(tuple(found[:SHOWN_FINDINGS]), {})

    def _show_lines(self, rows: tuple[HardwareRow, ...]) -> None:
        """Write the rows into the lines there are; only a different number of them makes new ones."""
        if len(rows) != len(self._shown):
            while item := self._lines.takeAt(0):
                if widget := item.widget():
                    widget.hide()
                    widget.deleteLater()
            self._shown = [HardwareLine(self._looks) for _ in rows]
            for number, line in enumerate(self._shown):
                if number:
                    self._lines.addWidget(rule())
                self._lines.addWidget(line)
        for line, values in zip(self._shown, rows, strict=True):
            line.show_row(values)


class HardwareLine(QWidget):
    """One part of the machine."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._icon = IconLabel(looks, "gpu")
        self._title, self._detail = ElidedLabel("label"), ElidedLabel("caption", "faint")
        self._chip = Chip()
        layout = row(self._icon, gap=12)
        layout.addLayout(column(self._title, self._detail, gap=0), 1)
        layout.addWidget(self._chip)
        self.setLayout(layout)

    @property
    def text(self) -> str:
        """Everything it says."""
        return self.accessibleName()

    def show_row(self, line: HardwareRow) -> None:
        """Show what is known of the part."""
        look = self._looks.look
        self._icon.set_icon(line.icon_name)
        self._title.setText(line.title)
        self._detail.setText(line.detail)
        self._chip.set_tone("success" if line.is_good else "neutral")
        self._chip.setText(look.text(line.verdict_key))
        says = look.text("ui.hardware.row", title=line.title, detail=line.detail, verdict=self._chip.text())
        self.setAccessibleName(says)
