"""The top of a model's page: what it is in one line, and the buttons that use it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QWidget

from app.gguf.display_name import display_name, file_title
from app.gguf.facts import FileKind
from app.ui.model_page_view import ModelPageView
from app.ui.theme.look import LookSource
from app.ui.views.models_words import fact_words
from app.ui.views.words import say
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import Chip, ElidedLabel, TextLabel
from app.ui.widgets.layouts import column, row

_STACKED_BELOW = 620


class ModelHead(QWidget):
    """Name, kind, figures; load and compare.

    Signals:
        load_requested: the chosen step is to be loaded.
        chat_requested: the model is loaded already; its chat is wanted.
        compare_requested: another model is to be put beside this one.
    """

    load_requested = Signal()
    chat_requested = Signal()
    compare_requested = Signal()

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelPageView()
        self._name = ElidedLabel("headline", mode=Qt.TextElideMode.ElideMiddle)
        self._kind = Chip("accent")
        self._loaded = Chip("success")
        self._facts = TextLabel("caption", "soft", wrap=True)
        self.compare = Button(looks, "secondary", "layers")
        self.load = Button(looks, "primary", "play")
        self.chat = Button(looks, "primary", "chat")
        words = row(column(row(self._kind, self._loaded), None), self._facts, gap=8)
        words.setStretch(1, 1)
        self._line = row(gap=12)
        self._line.addLayout(column(self._name, words, gap=4), 1)
        self._line.addLayout(row(self.compare, self.load, self.chat, gap=8))
        self.setLayout(self._line)
        self.load.clicked.connect(self.load_requested)
        self.chat.clicked.connect(self.chat_requested)
        self.compare.clicked.connect(self.compare_requested)
        looks.changed.connect(self._show)

    def show_view(self, view: ModelPageView) -> None:
        """Show a model; while it is looked at, its file name."""
        self._view = view
        self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = event.size().width() < _STACKED_BELOW * self._looks.look.zoom
        sides, stacked = QBoxLayout.Direction.LeftToRight, QBoxLayout.Direction.TopToBottom
        self._line.setDirection(stacked if is_narrow else sides)

    def _show(self) -> None:
        look, view = self._looks.look, self._view
        self._name.setText(_title(view))
        self._name.setAccessibleName(self._name.text())
        self._name.set_hint("" if view.path is None else view.path.name)
        facts = view.facts
        self._kind.setVisible(facts is not None)
        self._loaded.setVisible(view.is_loaded)
        self._loaded.setText(look.text("ui.plan.step.loaded"))
        if facts is not None:
            kind = facts.kind.value
            if facts.kind is FileKind.MODEL:
                kind = "moe" if facts.is_moe else "dense"
            self._kind.setText(look.text(f"ui.models.chip.{kind}"))
            self._kind.set_tone("accent" if kind == "moe" else "neutral")
        self._facts.setText(" · ".join(say(look.texts, words) for words in fact_words(view)))
        self.compare.setText(look.text("ui.models.compare"))
        self.compare.setVisible(facts is not None and bool(facts.tensor_count))
        self.chat.setText(look.text("ui.models.open_chat"))
        step = view.step
        if step is not None:
            self.load.setText(look.text("ui.models.load", step=look.text(f"ui.plan.step.{step.name}")))
        self._show_use(view)

    def _show_use(self, view: ModelPageView) -> None:
        """Offer to load, or to chat; the one that comes has the focus of the one that goes."""
        shown, gone = (self.chat, self.load) if view.is_loaded else (self.load, self.chat)
        had_focus = gone.hasFocus()
        shown.setVisible(view.is_loaded or view.can_load)
        if had_focus and not shown.isHidden():
            shown.setFocus()
        gone.hide()


def _title(view: ModelPageView) -> str:
    if view.path is None:
        return ""
    facts = view.facts
    if facts is None or not facts.tensor_count:
        return view.path.name
    name, quantization = display_name(facts.name, file_title(facts.path)), facts.quantization_name
    return name if quantization is None else f"{name}  {quantization}"
