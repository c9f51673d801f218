"""The text of an answer: plain while it streams, Markdown once at the end."""

from collections.abc import Iterator
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.ui.markdown.document import append_plain
from app.ui.markdown.parser import literal, parse
from app.ui.markdown.part import Part, stack
from app.ui.markdown.parts import PartEvents, PartMaker, Placed
from app.ui.markdown.selection import Selection, SelectionOwner
from app.ui.markdown.text_view import TextView
from app.ui.theme.look import LookSource
from app.ui.views.slices import Slices

_AT_ONCE_SECONDS: Final = 0.012
_CHUNK: Final = 4_000
"""Characters of one streamed text; at the next line a new one begins: a piece always costs the same."""
_CHUNK_MAX: Final = 8_000


class AnswerBody(Part):
    """Shows one text.

    Signals:
        height_changed: `fit` gives another height now.
    """

    height_changed = Signal()

    def __init__(
        self,
        looks: LookSource,
        owner: SelectionOwner,
        events: PartEvents,
        parent: QWidget | None = None,
        ink: str = "text",
    ) -> None:
        """Show nothing yet; prose will have palette colour `ink`."""
        super().__init__(parent)
        self._selection = Selection(owner)
        self._maker = PartMaker(looks, self._selection, events, self, ink)
        self._slices = Slices(self)
        self._placed: list[Placed] = []
        self._coming: list[Placed] = []
        self._stream: TextView | None = None
        self._stream_size = 0

    @property
    def selection(self) -> Selection:
        """What the mouse selects in it."""
        return self._selection

    @property
    def is_building(self) -> bool:
        """Markdown is being drawn behind the scenes; what is seen is older."""
        return self._slices.is_running

    def show_markdown(self, text: str) -> None:
        """Replace everything by `text`, drawn. Long texts take some turns of the event loop."""
        self._build(self._maker.make(parse(text)))

    def show_plain(self, text: str) -> None:
        """Replace everything by `text` as it stands."""
        self._build(self._maker.make(literal(text)))

    def start_stream(self, text: str = "") -> None:
        """Replace everything by `text`, to which more is added."""
        self._slices.stop()
        self._drop([*self._placed, *self._coming])
        self._placed, self._coming = [], []
        self._stream, self._stream_size = None, 0
        self.append(text)

    def append(self, text: str) -> None:
        """Add streamed text; costs the same however much there is."""
        while True:
            if self._stream is None or self._stream_size >= _CHUNK_MAX:
                self._open_chunk()
            room = _CHUNK_MAX - self._stream_size
            cut = (
                text.find("\n", max(0, _CHUNK - self._stream_size))
                if len(text) + self._stream_size > _CHUNK
                else -1
            )
            if 0 <= cut < room:
                self._add(text[:cut])
                self._stream_size, text = _CHUNK_MAX, text[cut + 1 :]
            else:
                self._add(text[:room])
                text = text[room:]
            if not text:
                return

    def end_stream(self) -> None:
        """Take the mark of coming text away."""
        if self._stream is not None:
            self._stream.set_caret(is_shown=False)

    def fit(self, width: int) -> int:
        height = stack(((placed.part, placed.gap, placed.indent) for placed in self._placed), width)
        self.resize(width, height)
        return height

    def _open_chunk(self) -> None:
        if self._stream is not None:
            self._stream.set_caret(is_shown=False)
        self._stream = self._maker.plain()
        self._stream.set_caret(is_shown=True)
        self._stream.show()
        self._stream_size = 0
        self._placed.append(Placed(self._stream, 0, 0))

    def _add(self, text: str) -> None:
        if self._stream is not None and text:
            append_plain(self._stream.document, text)
            self._stream.text_changed()
            self._stream_size += len(text)

    def _build(self, steps: Iterator[Placed | None]) -> None:
        self._slices.stop()
        self._drop(self._coming)
        self._coming = []
        at_once = _AT_ONCE_SECONDS if self._stream is None else 0.0  # streamed text is on the screen already
        self._slices.start(self._collect(steps), self._swap, at_once)

    def _collect(self, steps: Iterator[Placed | None]) -> Iterator[None]:
        for placed in steps:
            if placed is not None:
                self._coming.append(placed)
            yield
        for placed in self._coming:  # measured here, so that the change itself is short
            placed.part.fit(max(1, self.width() - placed.indent))
            yield

    def _swap(self) -> None:
        old, self._placed, self._coming = self._placed, self._coming, []
        self._stream = None
        for placed in self._placed:
            placed.part.show()
        self._drop(old)
        self.height_changed.emit()

    def _drop(self, parts: list[Placed]) -> None:
        for placed in parts:
            if isinstance(placed.part, TextView):
                self._selection.remove(placed.part)
            placed.part.hide()
            placed.part.deleteLater()
