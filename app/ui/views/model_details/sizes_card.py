"""The card of sizes: figures, and the types each part of the model is stored in."""

from collections.abc import Iterator
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from app.gguf.anatomy import TypeShare
from app.texts import format_bytes
from app.ui.theme.look import LookSource
from app.ui.theme.style_sheet import polish
from app.ui.views.model_details.facts import ModelDetailsFacts
from app.ui.views.model_details.numbers import bits_text
from app.ui.views.model_details.size_rows import ClassRow, Figure, class_rows, figures_of
from app.ui.views.words import say
from app.ui.widgets.labels import IconLabel, TextLabel
from app.ui.widgets.layouts import card, column, holder, row, rule
from app.ui.widgets.share_bar import ShareBar, ShareLegend

_TILE_WIDTH: Final = 200
_MAX_COLUMNS: Final = 4
_FIGURES: Final = 12
_CLASSES: Final = 8
"""As many as most models have."""


class SizesCard(QWidget):
    """Figures in up to four columns; below them one row per class of tensors."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._details: ModelDetailsFacts | None = None
        self._title = TextLabel("subtitle")
        self._tiles: list[_Tile] = []
        self._tile_grid = QGridLayout()
        self._tile_grid.setHorizontalSpacing(16)
        self._tile_grid.setVerticalSpacing(12)
        self._columns = 0
        self._types_title = TextLabel("label")
        self._rows: list[_ClassView] = []
        self._class_grid = QGridLayout()
        self._class_grid.setHorizontalSpacing(12)
        self._class_grid.setVerticalSpacing(8)
        self._class_grid.setColumnStretch(1, 1)
        self._class_grid.setColumnStretch(3, 3)
        self._router_text = TextLabel("caption", wrap=True)
        note = row(column(IconLabel(looks, "info", "info_text", 16), None), self._router_text, gap=6)
        note.setStretch(1, 1)
        self._router = holder(note)
        parts = (self._title, self._tile_grid, rule(), self._types_title, self._class_grid, self._router)
        self.setLayout(column(card(column(*parts, gap=12))))
        looks.changed.connect(self._show)
        self._show()

    def show_details(self, details: ModelDetailsFacts) -> None:
        """Show the sizes of a model."""
        for _ in self.show_in_steps(details):
            pass

    def show_in_steps(self, details: ModelDetailsFacts) -> Iterator[None]:
        """Do the same, a line at a step."""
        self._details = details
        yield from self._steps()

    def prepare(self) -> Iterator[None]:
        """Make what a model will need."""
        yield from self._make(_FIGURES, _CLASSES)

    def figure_texts(self) -> tuple[str, ...]:
        """Return what readers of the screen are told, figure by figure."""
        return tuple(tile.accessibleName() for tile in self._tiles if not tile.isHidden())

    def class_texts(self) -> tuple[str, ...]:
        """Return the rows of types in words."""
        return tuple(line.bar.accessibleDescription() for line in self._rows if not line.name.isHidden())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _show(self) -> None:
        for _ in self._steps():
            pass

    def _steps(self) -> Iterator[None]:
        look, details = self._looks.look, self._details
        self._title.setText(look.text("ui.details.sizes"))
        self._types_title.setText(look.text("ui.details.types"))
        figures = figures_of(details) if details else ()
        classes = class_rows(details.anatomy) if details else ()
        yield from self._make(len(figures), len(classes))
        for tile, figure in zip(self._tiles, figures, strict=False):
            tile.show_figure(figure)
            yield
        for number, tile in enumerate(self._tiles):
            tile.setVisible(number < len(figures))
        for number, line in enumerate(self._rows):
            line.show_row(classes[number] if number < len(classes) else None)
            yield
        is_noted = details is not None and details.anatomy.is_router_quantized
        self._router.setVisible(is_noted)
        if details is not None:
            self._router_text.setText(look.text("ui.details.router", types=details.anatomy.router_types))
        self._arrange()

    def _make(self, figures: int, classes: int) -> Iterator[None]:
        while len(self._tiles) < figures:
            self._tiles.append(_Tile(self._looks))
            self._tiles[-1].hide()
            self._tile_grid.addWidget(self._tiles[-1], len(self._tiles), 0)
            self._columns = 0
            yield
        while len(self._rows) < classes:
            self._rows.append(_ClassView(self._looks, self._class_grid, len(self._rows)))
            self._rows[-1].show_row(None)
            yield
        if figures or classes:
            yield from polish(self)

    def _arrange(self) -> None:
        """Put the figures into as many columns as there is room for."""
        wide = round(_TILE_WIDTH * self._looks.look.zoom)
        columns = max(1, min(_MAX_COLUMNS, self.width() // wide))
        if columns == self._columns:
            return
        self._columns = columns
        for tile in self._tiles:
            self._tile_grid.removeWidget(tile)
        for number, tile in enumerate(self._tiles):
            self._tile_grid.addWidget(tile, number // columns, number % columns)
        for number in range(_MAX_COLUMNS):
            self._tile_grid.setColumnStretch(number, 1 if number < columns else 0)


class _Tile(QWidget):
    """One figure: its name, how much, and what that is of."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._name = TextLabel("caption", "soft", wrap=True)
        self._value = TextLabel("title")
        self._detail = TextLabel("caption", "faint", wrap=True)
        self.setLayout(column(self._name, self._value, self._detail, None, gap=2))

    def show_figure(self, figure: Figure) -> None:
        """Set the words."""
        texts = self._looks.look.texts
        name, detail = say(texts, figure.name), say(texts, figure.detail) if figure.detail else ""
        self._name.setText(name)
        self._value.setText(figure.value)
        self._detail.setText(detail)
        self._detail.setVisible(bool(detail))
        spoken = [name, figure.value, detail]
        self.setAccessibleName(self._looks.look.text("ui.list_separator").join(filter(None, spoken)))


class _ClassView:
    """One line of the grid: class, bar, size, and the types with their swatches."""

    def __init__(self, looks: LookSource, grid: QGridLayout, line: int) -> None:
        self._looks = looks
        self.name = TextLabel("label")
        self.bar = ShareBar(looks)
        self._size = TextLabel("label")
        self._size.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._legend = ShareLegend(looks)
        for place, part in enumerate((self.name, self.bar, self._size, self._legend)):
            grid.addWidget(part, line, place)

    def show_row(self, facts: ClassRow | None) -> None:
        """Show a class; None hides the line."""
        for part in (self.name, self.bar, self._size, self._legend):
            part.setVisible(facts is not None)
        if facts is None:
            return
        look = self._looks.look
        name = look.text(f"ui.details.class.{facts.kind.value}")
        self.name.setText(name)
        self._size.setText(format_bytes(facts.size_bytes))
        whole = facts.size_bytes or 1
        said = " · ".join(self._said(share) for share in facts.shares)
        types = look.text("ui.details.types.spoken", name=name, size=facts.size_bytes, types=said)
        self.bar.show_shares(tuple(share.size_bytes / whole for share in facts.shares), name, types)
        words = tuple(
            look.text("ui.details.types.share", type=share.type_name, size=share.size_bytes or None)
            for share in facts.shares
        )
        self._legend.show_words(words, name)

    def _said(self, share: TypeShare) -> str:
        return self._looks.look.text(
            "ui.details.types.share_bits",
            type=share.type_name,
            size=share.size_bytes or None,
            bits=bits_text(share.bits_per_weight),
            tensors=share.tensor_count,
        )
