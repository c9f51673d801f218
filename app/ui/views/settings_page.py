"""The settings: language and look, engine, files. Everything holds at once."""

from dataclasses import dataclass, field
from typing import Final

from PySide6.QtCore import QLocale, Qt, Signal
from PySide6.QtWidgets import QFrame, QWidget

from app.texts import LANGUAGES
from app.ui.theme.look import LookSource
from app.ui.views.engine_choice import EngineChoice, EngineChoices
from app.ui.views.gpu_choice import GpuChoices, GpuUse
from app.ui.widgets.buttons import Button
from app.ui.widgets.controls import MarkSlider, Segmented, Switch
from app.ui.widgets.labels import ElidedLabel, TextLabel
from app.ui.widgets.layouts import Item, card, column, holder, row, rule, scrolled
from app.ui.widgets.panel import Panel

THEMES: Final = ("light", "dark", "system")
"""Also the ends of their text keys."""
ZOOM_STEP_PERCENT: Final = 10
ZOOM_LEAST_PERCENT: Final = 80
ZOOM_MOST_PERCENT: Final = 200
PAGE_WIDTH: Final = 760
SLIDER_WIDTH: Final = 170


@dataclass(frozen=True, slots=True)
class SettingsView:
    """What the page shows.

    Attributes:
        language: One of `LANGUAGES`. theme: one of `THEMES`.
        engine: Name of the chosen one; None lets Moxie choose.
        zoom: Text scale, 0.8 .. 2.0.
        gpus: Those of this PC; empty while it was not looked at.
    """

    language: str = "en"
    theme: str = "system"
    engines: tuple[EngineChoice, ...] = ()
    engine: str | None = None
    data_folder: str = ""
    reduced_motion: bool = False
    zoom: float = 1.0
    gpus: tuple[GpuUse, ...] = ()


@dataclass(slots=True)
class _Words:
    """Labels to be set again in another language, by the end of their key."""

    labels: dict[str, TextLabel] = field(default_factory=dict)

    def label(self, key: str, style: str, ink: str | None = None, *, wrap: bool = False) -> TextLabel:
        self.labels[key] = TextLabel(style, ink, wrap=wrap)
        return self.labels[key]


class SettingsPage(Panel):
    """Shows the settings and says what the person chose.

    Signals:
        language_chosen: one of `LANGUAGES`. theme_chosen: one of `THEMES`.
        engine_chosen: name, or None for automatic.
        gpu_chosen: key of a GPU, and whether engines may use it.
        reduced_motion_chosen: bool. zoom_chosen: text scale.
        data_folder_requested: the folder is to be opened.
    """

    language_chosen = Signal(str)
    theme_chosen = Signal(str)
    engine_chosen = Signal(object)
    gpu_chosen = Signal(str, bool)
    reduced_motion_chosen = Signal(bool)
    zoom_chosen = Signal(float)
    data_folder_requested = Signal()

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(looks, ground="window", parent=parent)
        self._looks = looks
        self._view = SettingsView()
        self._words = _Words()
        self.language = Segmented(looks)
        self.theme = Segmented(looks)
        self.zoom = MarkSlider(looks, fill="accent")
        self._zoom_value = TextLabel("label")
        self.motion = Switch(looks)
        self.engines = EngineChoices(looks)
        self._no_engine = self._words.label("engine_none", "caption", "faint", wrap=True)
        self.gpus = GpuChoices(looks)
        self._no_gpu = self._words.label("gpu_none", "caption", "faint", wrap=True)
        self._folder = ElidedLabel("caption", "faint", mode=Qt.TextElideMode.ElideMiddle)
        self.open_folder = Button(looks, "secondary", "folder")
        self._lay_out()
        self._connect()
        looks.changed.connect(self._apply_look)
        self._apply_look()

    def show_settings(self, view: SettingsView) -> None:
        """Show the values in force."""
        self._view = view
        self._show_values()

    def _lay_out(self) -> None:
        self.zoom.setRange(ZOOM_LEAST_PERCENT // ZOOM_STEP_PERCENT, ZOOM_MOST_PERCENT // ZOOM_STEP_PERCENT)
        self.zoom.setTracking(False)  # the page would move under the mouse
        self.zoom.setFixedWidth(SLIDER_WIDTH)
        zoom = holder(row(self.zoom, self._zoom_value, gap=10))
        self._groups = (
            self._group(
                "look",
                self._row("language", self.language),
                self._row("theme", self.theme),
                self._row("zoom", zoom),
                self._row("motion", self.motion),
            ),
            self._group("engine_group", self._engine_rows()),
            self._group("gpu_group", self._gpu_rows()),
            self._group("files", self._row("data_folder", self.open_folder, self._folder)),
        )
        inner = column(self._words.label("title", "headline"), *self._groups, gap=12)
        self._inner = holder(inner)
        centred = row(None, gap=0, margins=(24, 18, 24, 18))
        centred.addWidget(self._inner, 1000)
        centred.addStretch(1)
        page = scrolled(holder(column(centred, None, gap=0)))
        self.setLayout(column(page, gap=0))

    def _engine_rows(self) -> QWidget:
        detail = self._words.label("engine_detail", "caption", "faint", wrap=True)
        return holder(column(detail, self._no_engine, self.engines, gap=6))

    def _gpu_rows(self) -> QWidget:
        detail = self._words.label("gpu_detail", "caption", "faint", wrap=True)
        return holder(column(detail, self._no_gpu, self.gpus, gap=6))

    def _row(self, key: str, control: QWidget, more: QWidget | None = None) -> QWidget:
        texts = column(self._words.label(key, "body"), gap=1)
        texts.addWidget(self._words.label(f"{key}_detail", "caption", "faint", wrap=True))
        if more is not None:
            texts.addWidget(more)
        line = row(gap=20)
        line.addLayout(texts, 1)
        line.addWidget(control)
        return holder(line)

    def _group(self, key: str, *items: QWidget) -> QFrame:
        parts: list[Item] = [self._words.label(key, "subtitle")]
        for number, item in enumerate(items):
            parts += [rule(), item] if number else [item]
        return card(column(*parts, gap=9), 18)

    def _connect(self) -> None:
        self.language.chosen.connect(self.language_chosen)
        self.theme.chosen.connect(self.theme_chosen)
        self.zoom.valueChanged.connect(self._on_zoomed)
        self.zoom.sliderMoved.connect(self._show_zoom)
        self.motion.clicked.connect(self.reduced_motion_chosen)
        self.engines.chosen.connect(self.engine_chosen)
        self.gpus.chosen.connect(self.gpu_chosen)
        self.open_folder.clicked.connect(self.data_folder_requested)

    def _on_zoomed(self, step: int) -> None:
        self._show_zoom(step)
        self.zoom_chosen.emit(step * ZOOM_STEP_PERCENT / 100)

    def _show_zoom(self, step: int) -> None:
        text = self._looks.look.text("ui.settings.zoom_value", percent=step * ZOOM_STEP_PERCENT)
        self._zoom_value.setText(text)
        self.zoom.set_value_text(text)

    def _show_values(self) -> None:
        view = self._view
        self.language.set_current(view.language)
        self.theme.set_current(view.theme)
        self.motion.setChecked(view.reduced_motion)
        self.zoom.blockSignals(True)
        self.zoom.setValue(round(view.zoom * 100 / ZOOM_STEP_PERCENT))
        self.zoom.blockSignals(False)
        self._show_zoom(self.zoom.value())
        self.engines.show_engines(view.engines, view.engine)
        self.engines.setVisible(bool(view.engines))
        self._no_engine.setVisible(not view.engines)
        self.gpus.show_gpus(view.gpus)
        self.gpus.setVisible(bool(view.gpus))
        self._no_gpu.setVisible(not view.gpus)
        self._folder.setText(view.data_folder)

    def _apply_look(self) -> None:
        look = self._looks.look
        self._inner.setMaximumWidth(round(PAGE_WIDTH * max(1.0, look.zoom)))
        for key, label in self._words.labels.items():
            label.setText(look.text(f"ui.settings.{key}"))
        self.setAccessibleName(look.text("ui.settings.title"))
        self.language.set_items([(name, language_name(name)) for name in LANGUAGES])
        self.theme.set_items([(name, look.text(f"ui.settings.theme.{name}")) for name in THEMES])
        for control, key in (
            (self.language, "language"),
            (self.theme, "theme"),
            (self.zoom, "zoom"),
            (self.motion, "motion"),
        ):
            control.setAccessibleName(look.text(f"ui.settings.{key}"))
            control.setAccessibleDescription(look.text(f"ui.settings.{key}_detail"))
        self.open_folder.setText(look.text("ui.settings.open_folder"))
        width = look.font("label")
        self._zoom_value.setMinimumWidth(round(width.pixelSize() * 3.6))
        self._show_values()


def language_name(language: str) -> str:
    """Return a language's name for itself, as Qt knows it."""
    name = QLocale(language).nativeLanguageName()
    return name.split(" ")[-1] if language == "en" else name
