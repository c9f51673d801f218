"""Dialogs: a question with its consequences, and a text to read and copy."""

from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication, QShowEvent, QTextOption
from PySide6.QtWidgets import QDialog, QLayout, QPlainTextEdit, QWidget

from app.ui.theme.look import LookSource
from app.ui.widgets.buttons import Button, IconButton
from app.ui.widgets.labels import IconLabel, TextLabel
from app.ui.widgets.layouts import column, row, tone_box

_WIDTH = 500
_MARGINS = (22, 18, 22, 20)


@dataclass(frozen=True, slots=True)
class Change:
    """One line of what a yes changes: name, value now, value then."""

    name: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Question:
    """What a `QuestionDialog` asks, in words of the language in force.

    Attributes:
        title: The question.
        body: What a yes does, in a sentence.
        kept: What stays as it is.
        primary: The yes, a verb with its object.
        other: A third way, on the left; none when empty.
        is_destructive: A yes loses something: Enter then answers no.
    """

    title: str
    body: str
    primary: str
    kept: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    other: str = ""
    is_destructive: bool = False


class QuestionDialog(QDialog):
    """Asks one question. Escape is no; Enter is yes unless the yes loses something.

    `open()` it and connect `accepted` and `rejected`; `exec()` only where nothing else can go on. Asked once:
    it is gone when it is closed.

    Signals:
        other_chosen: the third way; the dialog is closed as with a no.
    """

    other_chosen = Signal()

    def __init__(self, looks: LookSource, question: Question, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._question = question
        self._yes = Button(looks, "danger" if question.is_destructive else "primary", size="large")
        self._no = Button(looks, "secondary", size="large")
        self._other = Button(looks, "ghost", size="large")
        self._close = IconButton(looks, "close", small=True)
        self._build()
        self._set_texts()
        looks.changed.connect(self._set_texts)

    def _build(self) -> None:
        question = self._question
        self.setModal(True)
        self.finished.connect(self.deleteLater)
        self.setWindowTitle(question.title)
        self.setProperty("surface", "dialog")
        self._yes.setText(question.primary)
        self._other.setText(question.other)
        self._other.setVisible(bool(question.other))
        self._yes.clicked.connect(self.accept)
        self._no.clicked.connect(self.reject)
        self._close.clicked.connect(self.reject)
        self._other.clicked.connect(self._on_other_clicked)
        title = TextLabel("title", wrap=True)
        title.setText(question.title)
        body = TextLabel("body", "soft", wrap=True)
        body.setText(question.body)
        head = row(title, column(self._close, None), gap=8)
        content = column(head, body, gap=12, margins=_MARGINS)
        if question.kept:
            content.addWidget(tone_box("accent", column(*map(self._kept_line, question.kept), gap=6)))
        for change in question.changes:
            content.addLayout(self._change_line(change))
        content.addSpacing(4)
        content.addLayout(row(self._other, None, self._no, self._yes))
        self.setLayout(content)
        default = self._no if question.is_destructive else self._yes
        default.setDefault(True)
        default.setFocus()

    def _kept_line(self, text: str) -> QLayout:
        label = TextLabel("body", wrap=True)
        label.setText(text)
        return row(IconLabel(self._looks, "check", "accent_text", 16), label)

    def _change_line(self, change: Change) -> QLayout:
        name, old, new = TextLabel("caption", "soft"), TextLabel("body", "faint"), TextLabel("label")
        name.setText(change.name)
        old.setText(change.old)
        new.setText(change.new)
        return row(name, None, old, IconLabel(self._looks, "right", "text_faint", 14), new)

    def showEvent(self, event: QShowEvent) -> None:
        self._fit()
        super().showEvent(event)

    def _on_other_clicked(self) -> None:
        self.reject()
        self.other_chosen.emit()

    def _set_texts(self) -> None:
        look = self._looks.look
        self._no.setText(look.text("ui.dialog.cancel"))
        self._close.set_words(look.text("ui.dialog.close"), "Esc")
        self._fit()

    def _fit(self) -> None:
        """Take the width of the language of design, or what the buttons need, and the height of the text."""
        layout = self.layout()
        if layout is not None:
            self.ensurePolished()
            layout.invalidate()
            width = max(round(_WIDTH * self._looks.look.zoom), layout.totalMinimumSize().width())
            self.setFixedSize(width, layout.totalHeightForWidth(width))


class TextDialog(QDialog):
    """A long text to read and to copy: details of a failure, a report. Gone when it is closed."""

    def __init__(self, looks: LookSource, title: str, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._text = QPlainTextEdit(text, readOnly=True)
        self._copy = Button(looks, "secondary", "copy", size="large")
        self._close = Button(looks, "primary", size="large")
        self.setModal(True)
        self.finished.connect(self.deleteLater)
        self.setWindowTitle(title)
        self.setProperty("surface", "dialog")
        self._text.setProperty("style", "code")
        self._text.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
        self._text.setAccessibleName(title)
        self._copy.clicked.connect(self._on_copy_clicked)
        self._close.clicked.connect(self.accept)
        head = TextLabel("title", wrap=True)
        head.setText(title)
        buttons = row(None, self._copy, self._close)
        self.setLayout(column(head, self._text, buttons, gap=12, margins=_MARGINS))
        self._close.setDefault(True)
        self._close.setFocus()
        self._set_texts()
        looks.changed.connect(self._set_texts)

    def _on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText(self._text.toPlainText())
        self._copy.setText(self._looks.look.text("ui.dialog.copied"))

    def _set_texts(self) -> None:
        look = self._looks.look
        self._copy.setText(look.text("ui.dialog.copy"))
        self._close.setText(look.text("ui.dialog.close"))
        self._text.setFont(look.literal_font())
        self.resize(round(640 * look.zoom), round(440 * look.zoom))
