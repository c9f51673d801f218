"""The card that says what this PC has, what is wrong with it, and what helps."""

from collections.abc import Collection
from dataclasses import replace
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.findings import Finding, FindingCode, Severity
from app.hardware.facts import HardwareFacts
from app.ui.theme.look import LookSource
from app.ui.views.hardware_rows import HardwareRow, hardware_rows
from app.ui.widgets.buttons import Button
from app.ui.widgets.findings_view import FindingsList
from app.ui.widgets.labels import Chip, ElidedLabel, IconLabel, TextLabel
from app.ui.widgets.layouts import FlowLayout, card, column, row, rule
from app.ui.window_actions import SHOWS_MACHINE

SHOWN_FINDINGS: Final = 2
"""The gravest, one of each kind; all are a click away."""

_GRAVITY: Final = (Severity.ERROR, Severity.WARNING)
_SETTINGS_HELP: Final = frozenset(
    {
        FindingCode.ENGINE_BUILD_DEBUG,
        FindingCode.ENGINE_FLAVOUR_UNFIT,
        FindingCode.GFX_TARGET_MISSING,
        FindingCode.GPU_CHOICE_AMBIGUOUS,
        FindingCode.GPU_TOO_NEW_FOR_ENGINE,
        FindingCode.GPU_TOO_OLD_FOR_ENGINE,
        FindingCode.GPU_UNSEEN_BY_ENGINE,
    }
)
"""Another engine or another choice of cards helps; what does not lie in the window is said in words."""


class HardwareCard(QWidget):
    """A line per part of the machine, with a dash until its probe has answered; then what was found.

    Signals:
        report_requested: the machine is to be copied as text.
        machine_requested: all that is known and was found is to be shown.
        settings_requested: GPUs or the engine are to be chosen.
    """

    report_requested = Signal()
    machine_requested = Signal()
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
        self.findings = FindingsList(looks, narrow=True, keeps_help=True)
        self.copy_button = Button(looks, "link", "copy", size="compact")
        self.choose_button = Button(looks, "link", "settings", size="compact")
        self.all_button = Button(looks, "link", "info", size="compact")
        foot = FlowLayout(self.copy_button, self.choose_button, self.all_button, gap=12)
        self._rule = rule()
        self.setLayout(
            column(
                card(column(self._title, self._lines, self._rule, self.findings, foot, None, gap=8), 16),
                gap=0,
            )
        )
        self.copy_button.clicked.connect(self.report_requested)
        self.choose_button.clicked.connect(self.settings_requested)
        self.all_button.clicked.connect(self.machine_requested)
        self.findings.action_requested.connect(self._on_action)
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
        found = (*self._hardware.findings, *self._of_engine)
        judged = replace(self._hardware, findings=found)
        self._show_lines(hardware_rows(look, judged, self._excluded, is_final=self._is_final))
        self.all_button.setText(look.text("ui.hardware.all_findings", count=len(found)))
        shown = self._show_findings(found)
        self.all_button.setVisible(len(found) > len(shown))

    def _show_findings(self, found: tuple[Finding, ...]) -> tuple[Finding, ...]:
        graver = sorted(
            (finding for finding in found if finding.severity in _GRAVITY),
            key=lambda finding: _GRAVITY.index(finding.severity),
        )
        one_of_each = tuple({finding.code: finding for finding in reversed(graver)}.values())[::-1]
        shown = one_of_each[:SHOWN_FINDINGS]
        self._rule.setVisible(bool(shown))
        self.findings.setVisible(bool(shown))
        if shown:
            look = self._looks.look
            actions = dict.fromkeys(_SETTINGS_HELP, look.text("ui.hardware.open_settings"))
            actions |= dict.fromkeys(SHOWS_MACHINE, look.text("ui.plan.action.show_machine"))
            self.findings.show_findings(shown, actions)
        return shown

    def _on_action(self, finding: Finding) -> None:
        wanted = self.settings_requested if finding.code in _SETTINGS_HELP else self.machine_requested
        wanted.emit()

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
        self._chip.set_tone("success" if line.is_good else "warning" if line.is_limited else "neutral")
        self._chip.setText(look.text(line.verdict_key))
        says = look.text("ui.hardware.row", title=line.title, detail=line.detail, verdict=self._chip.text())
        self.setAccessibleName(says)
