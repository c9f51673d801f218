"""What happened, line by line, under the charts."""

import time
from typing import Final

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.ui.theme.look import LookSource
from app.ui.views.monitor_history import MonitorEvent
from app.ui.views.words import Words, say
from app.ui.widgets.labels import ElidedLabel, IconLabel, TextLabel
from app.ui.widgets.layouts import row

SHOWN_EVENTS: Final = 30
EVENT_GAP: Final = 4

_SIGNS: Final = {
    "load": ("models", "text_faint"),
    "message": ("chat", "text_faint"),
    "warning": ("warning", "warning_text"),
    "error": ("error", "danger_text"),
}
_OTHER: Final = ("clock", "text_faint")
_INKS: Final = {"warning": "warning", "error": "danger"}


class EventRow(QWidget):
    """Sign, time of day, sentence."""

    def __init__(self, looks: LookSource, event: MonitorEvent) -> None:
        super().__init__()
        self._looks = looks
        self._event = event
        name, ink = _SIGNS.get(event.kind, _OTHER)
        when = TextLabel("caption", "faint")
        when.setText(time.strftime("%H:%M", time.localtime(event.wall_seconds)))
        self._words = ElidedLabel("caption", _INKS.get(event.kind, "soft"))
        layout = row(IconLabel(looks, name, ink, 14), when, self._words, gap=6)
        layout.setStretchFactor(self._words, 1)
        self.setLayout(layout)
        looks.changed.connect(self._set_words)
        self._set_words()

    @property
    def text(self) -> str:
        """The sentence."""
        return self._words.text()

    def _set_words(self) -> None:
        words = Words(self._event.text_key, self._event.values)
        self._words.setText(say(self._looks.look.texts, words))


class EventList(QWidget):
    """The last events, the newest on top."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._rows: list[EventRow] = []
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(EVENT_GAP)
        looks.changed.connect(self._set_words)
        self._set_words()

    @property
    def rows(self) -> tuple[EventRow, ...]:
        """What is shown, the newest first."""
        return tuple(self._rows)

    def add_event(self, event: MonitorEvent) -> None:
        """Show one more; the oldest goes when there are too many."""
        line = EventRow(self._looks, event)
        self._rows.insert(0, line)
        self._layout.insertWidget(0, line)
        if len(self._rows) > SHOWN_EVENTS:
            oldest = self._rows.pop()
            self._layout.removeWidget(oldest)
            oldest.deleteLater()

    def _set_words(self) -> None:
        self.setAccessibleName(self._looks.look.text("ui.monitor.events"))
