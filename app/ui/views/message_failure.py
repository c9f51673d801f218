"""Why an answer broke off, under what came of it."""

from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.findings import Finding, FindingCode
from app.ui.markdown.part import Part
from app.ui.theme.look import LookSource
from app.ui.widgets.failure_card import FailureCard

_ANSWERABLE: Final = frozenset(
    {FindingCode.PROMPT_TOO_LONG, FindingCode.CHAT_TEMPLATE_FAILED, FindingCode.ENGINE_REQUEST_FAILED}
)
"""Failures after which the engine lives on: asking again is enough."""


class MessageFailure(Part):
    """A failure card with the way out that fits.

    Signals:
        reload_requested, regenerate_requested, details_requested, report_requested: what was chosen.
    """

    reload_requested = Signal()
    regenerate_requested = Signal()
    details_requested = Signal()
    report_requested = Signal()

    def __init__(self, looks: LookSource, finding: Finding, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        look = looks.look
        is_answerable = finding.code in _ANSWERABLE
        primary = look.text("ui.chat.answer_again" if is_answerable else "ui.chat.reload")
        details = look.text("ui.chat.failure_details")
        self._card = FailureCard(looks)
        self._card.setParent(self)
        action = look.texts.finding(finding).action
        advice = "" if primary in action else action  # the button says it already
        self._card.show_failure(finding, advice, primary, details, None, "")
        chosen = self.regenerate_requested if is_answerable else self.reload_requested
        self._card.primary_requested.connect(chosen)
        self._card.secondary_requested.connect(self.details_requested)
        self._card.report_requested.connect(self.report_requested)

    def fit(self, width: int) -> int:
        self._card.resize(width, self._card.height())
        layout = self._card.layout()
        height = layout.totalHeightForWidth(width) if layout is not None else 0
        self._card.setGeometry(0, 0, width, height)
        self.resize(width, height)
        return height
