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
    """Never without a way on: at least the report can be copied.

    Signals:
        primary_requested, secondary_requested: the person takes this way out.
        report_requested: the report is to be copied.
        details_requested: the details are wanted, which the card itself does not have.
    """

    primary_requested = Signal()
    secondary_requested = Signal()
    report_requested = Signal()
    details_requested = Signal()

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._finding: Finding | None = None
        self._has_details = True
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
        primary: str | None,
        secondary: str | None,
        price: str | None,
        details: str | None,
    ) -> None:
        """Show why something failed; empty `figures` and `details` have no place.

        Args:
            primary: None where the button that helps is elsewhere.
            details: None where they are to be asked for.
        """
        self._finding = finding
        self._figures.setText(figures)
        self._figures.setVisible(bool(figures))
        self._primary.setText(primary or "")
        self._primary.setVisible(primary is not None)
        self._secondary.setText(secondary or "")
        self._secondary.setVisible(secondary is not None)
        self._price.setText(price or "")
        self._price.setVisible(price is not None)
        self._actions.setVisible(primary is not None or secondary is not None)
        self._has_details = details is not None
        self._details.setPlainText(details or "")
        self._fold.setVisible(details is None or bool(details))
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
        self._actions = holder(FlowLayout(self._primary, self._secondary))
        links = row(self._fold, self._report, None, gap=10)
        parts = (self._badge, self._figures, self._actions, self._price, rule(), links, self._details)
        body = column(*parts, gap=12)
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
        if self._has_details:
            self._set_open(is_open=self._details.isHidden())
        else:
            self.details_requested.emit()

    def _set_open(self, *, is_open: bool) -> None:
        self._details.setVisible(is_open)
        icon_name = "down" if is_open else "right"
        self._fold.set_icon_name(icon_name if self._has_details else "info")
