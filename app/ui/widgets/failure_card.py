"""A failure as a card: what happened, the figures, one button that mends it and its price, the details."""

from PySide6.QtCore import Signal
from PySide6.QtGui import QTextOption
from PySide6.QtWidgets import QFrame, QPlainTextEdit

from app.findings import Finding, Severity
from app.ui.theme.look import LookSource
from app.ui.theme.style_sheet import restyle
from app.ui.widgets.buttons import Button
from app.ui.widgets.findings_view import SIGNS
from app.ui.widgets.labels import IconLabel, TextLabel
from app.ui.widgets.layouts import FlowLayout, card, column, holder, row, rule, tone_box

_DETAIL_LINES = 9


class FailureCard(QFrame):
    """Never without a button.

    Signals:
        primary_requested, secondary_requested: the person takes this way out.
        report_requested: the report is to be copied.
    """

    primary_requested = Signal()
    secondary_requested = Signal()
    report_requested = Signal()

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._finding: Finding | None = None
        self._sign = IconLabel(looks, "error", "danger_text", 22)
        self._title = TextLabel("subtitle", wrap=True)
        self._badge = tone_box("danger", row(self._sign, self._title, gap=12), 14)
        self._figures = TextLabel("body", "soft", wrap=True)
        self._primary = Button(looks, "primary", size="large")
        self._secondary = Button(looks, "secondary", size="large")
        self._price = TextLabel("caption", "faint", wrap=True)
        self._fold = Button(looks, "link", "right", size="compact")
        self._report = Button(looks, "link", "copy", size="compact")
        self._details = QPlainTextEdit(readOnly=True)
        self._build()
        looks.changed.connect(self._set_texts)

    def show_failure(
        self,
        finding: Finding,
        figures: str,
        primary: str,
        secondary: str | None,
        price: str | None,
        details: str,
    ) -> None:
        """Show why something failed; empty `figures` and `details` have no place."""
        self._finding = finding
        self._figures.setText(figures)
        self._figures.setVisible(bool(figures))
        self._primary.setText(primary)
        self._secondary.setText(secondary or "")
        self._secondary.setVisible(secondary is not None)
        self._price.setText(price or "")
        self._price.setVisible(price is not None)
        self._details.setPlainText(details)
        self._fold.setVisible(bool(details))
        self._set_open(is_open=False)
        self._set_texts()

    def _build(self) -> None:
        self._primary.clicked.connect(self.primary_requested)
        self._secondary.clicked.connect(self.secondary_requested)
        self._report.clicked.connect(self.report_requested)
        self._fold.clicked.connect(self._on_fold_clicked)
        self._details.setProperty("style", "code")
        self._details.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self._details.hide()
        actions = holder(FlowLayout(self._primary, self._secondary))
        links = row(self._fold, self._report, None, gap=10)
        body = column(self._badge, self._figures, actions, self._price, rule(), links, self._details, gap=12)
        frame = card(body, 18)
        self.setLayout(column(frame, gap=0))

    def _set_texts(self) -> None:
        look = self._looks.look
        self._report.setText(look.text("ui.failure.copy_report"))
        self._fold.setText(look.text("ui.failure.details"))
        self._details.setAccessibleName(look.text("ui.failure.details"))
        self._details.setFixedHeight(round(20 * look.zoom) * _DETAIL_LINES)
        if self._finding is None:
            return
        icon_name, ink = SIGNS[self._finding.severity]
        self._sign.set_icon(icon_name, ink)
        tone = "danger" if self._finding.severity is Severity.ERROR else "warning"
        if tone != self._badge.property("tone"):
            self._badge.setProperty("tone", tone)
            restyle(self._badge)
        message = look.texts.finding(self._finding).message
        severity = look.text(f"severity.{self._finding.severity.value}")
        self._title.setText(message)
        self.setAccessibleName(f"{severity}: {message}")
        self._primary.setAccessibleDescription(self._price.text())

    def _on_fold_clicked(self) -> None:
        self._set_open(is_open=self._details.isHidden())

    def _set_open(self, *, is_open: bool) -> None:
        self._details.setVisible(is_open)
        self._fold.set_icon_name("down" if is_open else "right")
