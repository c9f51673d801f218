"""The chat template: what an engine is given, what it supports, and the template itself."""

import re
from collections.abc import Sequence
from typing import Final

from PySide6.QtGui import QFont, QGuiApplication, QTextCharFormat, QTextCursor, QTextOption
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QWidget

from app.ui.theme.look import LookSource
from app.ui.views.model_details.facts import TemplateFacts
from app.ui.widgets.buttons import Button
from app.ui.widgets.controls import Segmented
from app.ui.widgets.labels import Chip, TextLabel
from app.ui.widgets.layouts import FlowLayout, column, holder, row

PREVIEW: Final = "preview"
SOURCE: Final = "source"
_TEXT_HEIGHT: Final = 260
_MAX_TINTED: Final = 400
"""Places tinted in one preview; a hostile template could repeat a token without end."""

_MAX_SHOWN: Final = 64 * 1024
"""Characters laid out: a long text would hold up the window."""


class TemplateSection(QWidget):
    """Preview and source in one field; special tokens are tinted and framed by their own brackets."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._facts = TemplateFacts()
        self.choice = Segmented(looks)
        self.choice.set_items([(PREVIEW, ""), (SOURCE, "")])
        self.choice.set_current(PREVIEW)
        self.copy_button = Button(looks, "ghost", "copy", size="compact")
        self.text = QPlainTextEdit(readOnly=True)
        self.text.setProperty("style", "code")
        self.text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self.text.setMinimumHeight(_TEXT_HEIGHT)
        self.text.setTabChangesFocus(True)
        self._note = TextLabel("caption", "soft", wrap=True)
        self._chips: list[Chip] = []
        self._flow = FlowLayout()
        self._features = holder(self._flow)
        bar = row(self._note, self.choice, self.copy_button)
        bar.setStretch(0, 1)
        self.setLayout(column(bar, self._features, self.text, gap=8))
        self.choice.chosen.connect(self._show)
        self.copy_button.clicked.connect(self._on_copy_clicked)
        looks.changed.connect(self._show)
        self._show()

    def show_template(self, facts: TemplateFacts) -> None:
        """Show another template; where there is no preview its source is in front."""
        self._facts = facts
        self.choice.set_current(SOURCE if facts.source and not facts.previews else PREVIEW)
        self._show()

    def feature_texts(self) -> tuple[str, ...]:
        """Return what the template supports, in words."""
        return tuple(chip.text() for chip in self._chips if not chip.isHidden())

    def _show(self) -> None:
        look, facts = self._looks.look, self._facts
        names = [(key, look.text(f"ui.details.template.{key}")) for key in (PREVIEW, SOURCE)]
        self.choice.set_items(names)
        self.text.setFont(look.literal_font())
        self.choice.setEnabled(facts.source is not None)
        self.copy_button.setText(look.text("ui.details.template.copy"))
        shows_source = self.choice.current == SOURCE
        key = self._note_key()
        self._note.setText(look.text(key, detail=facts.detail))
        self._note.set_ink("danger" if facts.fault else "soft")
        self.text.setAccessibleName(dict(names)[SOURCE if shows_source else PREVIEW])
        self._show_text((facts.source if shows_source else facts.previews.get(look.texts.language)) or "")
        self.copy_button.setEnabled(bool(self.text.toPlainText()))
        self._show_features()

    def _note_key(self) -> str:
        facts = self._facts
        if facts.fault:
            return f"ui.details.template.fault.{facts.fault}"
        if self.choice.current == SOURCE:
            return "ui.details.template.source_note"
        if facts.source is None:
            return "ui.details.template.none"
        return "ui.details.template.note" if facts.previews else "ui.details.template.no_preview"

    def _show_text(self, text: str) -> None:
        text = text[:_MAX_SHOWN]
        if text != self.text.toPlainText():
            self.text.setPlainText(text)
        tokens = self._facts.special_tokens if self.choice.current == PREVIEW else ()
        self.text.setExtraSelections(self._tints(text, tokens))

    def _tints(self, text: str, tokens: Sequence[str]) -> list[QTextEdit.ExtraSelection]:
        look = self._looks.look
        tints: list[QTextEdit.ExtraSelection] = []
        if not (words := sorted(filter(None, tokens), key=len, reverse=True)):
            return []
        looks_special = QTextCharFormat()
        looks_special.setForeground(look.color("accent_text"))
        looks_special.setBackground(look.color("accent_soft"))
        looks_special.setFontWeight(QFont.Weight.DemiBold)
        for found in re.finditer("|".join(map(re.escape, words)), text):
            if len(tints) == _MAX_TINTED:
                break
            tint = QTextEdit.ExtraSelection()
            cursor = QTextCursor(self.text.document())
            cursor.setPosition(_utf16(text, found.start()))
            cursor.setPosition(_utf16(text, found.end()), QTextCursor.MoveMode.KeepAnchor)
            tint.cursor, tint.format = cursor, looks_special  # type: ignore[attr-defined]
            tints.append(tint)
        return tints

    def _show_features(self) -> None:
        look = self._looks.look
        supports = self._facts.supports
        while len(self._chips) < len(supports):
            self._chips.append(Chip())
            self._flow.addWidget(self._chips[-1])
        for chip, (feature, answer) in zip(self._chips, supports.items(), strict=False):
            name = look.text(f"ui.details.template.feature.{feature}")
            word = {True: "yes", False: "no", None: "unknown"}[answer]
            chip.setText(look.text(f"ui.details.template.{word}", feature=name))
            chip.set_tone("success" if answer else "neutral")
        for number, chip in enumerate(self._chips):
            chip.setVisible(number < len(supports))
        self._features.setVisible(bool(supports))

    def _on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())


def _utf16(text: str, position: int) -> int:
    """Return a position as Qt counts: characters beyond the first plane are two."""
    return len(text[:position].encode("utf-16-le")) // 2
