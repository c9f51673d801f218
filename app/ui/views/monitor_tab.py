"""Dock tab Monitor: strips on one time axis, the figures of the moment, events."""

import time
from collections.abc import Callable, Mapping
from typing import Final

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from app.findings import Finding
from app.hardware.facts import Sample
from app.ui.charts.strip import LEFT_AXIS, RIGHT_AXIS, StripChart
from app.ui.theme.look import LookSource
from app.ui.views.monitor_events import EVENT_GAP, EventList
from app.ui.views.monitor_head import StripHead
from app.ui.views.monitor_history import SHOWN_SECONDS, Curve, MonitorHistory
from app.ui.views.monitor_strips import (
    STRIPS,
    StripSpec,
    frame_of,
    has_source,
    reason_of,
    shows_gigabytes_per_second,
)
from app.ui.views.monitor_table import ValuesTable, value_text
from app.ui.widgets.buttons import IconButton
from app.ui.widgets.labels import Chip, TextLabel
from app.ui.widgets.layouts import column, holder, row, rule, scrolled

IDLE_FRAME_MS: Final = 900
GENERATING_FRAME_MS: Final = 400
"""A little less than the time between samples, so that each sample is drawn and none twice."""

BETWEEN_STRIPS_MS: Final = 20
"""One strip is painted in 2 ms; all in one go would hold up typing and streaming."""

_TALLEST_STRIP: Final = 170
_ALL_STRETCH: Final = 100
_EVENTS_IN_SIGHT: Final = 4
_NEAREST_ROW_SECONDS: Final = 6.0


class _Strip:
    """Head and chart of one strip."""

    def __init__(self, looks: LookSource, spec: StripSpec) -> None:
        self.spec = spec
        self.head = StripHead(looks, spec)
        self.chart = StripChart(looks, tuple(spec.curves.values()), SHOWN_SECONDS)
        self.chart.setMaximumHeight(_TALLEST_STRIP)


class MonitorTab(QWidget):
    """Remembers all it is told at any time; draws only while it can be seen, at most once per frame time."""

    def __init__(
        self,
        looks: LookSource,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__()
        self._looks = looks
        self._wall_clock = wall_clock
        self._history = MonitorHistory(clock, wall_clock)
        self._sources: tuple[Finding, ...] = ()
        self._is_generating = False
        self._needs_frame = False
        self._pointed_at: float | None = None
        self._frame_count = 0
        self._pause = QTimer(self, singleShot=True)
        self._pause.timeout.connect(self._on_pause_over)
        self._strips = [_Strip(looks, spec) for spec in STRIPS]
        self._axis = [TextLabel("caption", "faint") for _ in range(3)]
        self._table = ValuesTable(looks)
        self._table_button = IconButton(looks, "grid", small=True)
        self._events_title = TextLabel("label")
        self._events_count = Chip()
        self._events = EventList(looks)
        self._events_area = scrolled(self._events)
        self._charts = self._chart_holder()
        self._lay_out()
        self._table.hide()
        self._table_button.clicked.connect(self._on_table_clicked)
        for strip in self._strips:
            strip.chart.pointed.connect(self._on_pointed)
        looks.changed.connect(self._on_look_changed)
        self._on_look_changed()

    @property
    def frame_count(self) -> int:
        """How often the strips were drawn."""
        return self._frame_count

    @property
    def is_pausing(self) -> bool:
        """The next sample is not drawn at once: the last frame is too young."""
        return self._pause.isActive()

    @property
    def history(self) -> MonitorHistory:
        """What is remembered."""
        return self._history

    def show_sample(self, sample: Sample) -> None:
        """Take one reading of the machine."""
        self._history.add_sample(sample)
        self._request_frame()

    def show_speed(self, tokens_per_second: float | None, *, is_prefill: bool) -> None:
        """Take the speed of this moment; None and no prefill = nothing is generated."""
        self._is_generating = is_prefill or tokens_per_second is not None
        self._history.set_speed(tokens_per_second, is_prefill=is_prefill)

    def add_event(self, kind: str, text_key: str, values: Mapping[str, object]) -> None:
        """Note something that happened: `load`, `message`, `warning`, `error` or another kind."""
        self._history.add_event(kind, text_key, values)
        self._events.add_event(self._history.events[-1])
        self._events_count.setText(str(len(self._events.rows)))
        self._fit_events()
        self._request_frame()

    def set_budget(self, vram_total_bytes: int | None) -> None:
        """Say how much VRAM there is; samples that name it overrule this."""
        if vram_total_bytes is not None:
            self._history.vram_total_bytes = vram_total_bytes
        self._request_frame()

    def set_sources(self, findings: tuple[Finding, ...]) -> None:
        """Say what was found about the machine: the reasons of missing values."""
        self._sources = findings
        self._request_frame()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._draw()

    def _request_frame(self) -> None:
        if not self._can_be_seen():
            return
        if self._pause.isActive():
            self._needs_frame = True
        else:
            self._draw()

    def _on_pause_over(self) -> None:
        if self._needs_frame and self._can_be_seen():
            self._draw()

    def _can_be_seen(self) -> bool:
        return self.isVisible() and not self.window().isMinimized()

    def _draw(self) -> None:
        self._needs_frame = False
        self._frame_count += 1
        self._pause.start(GENERATING_FRAME_MS if self._is_generating else IDLE_FRAME_MS)
        for number, strip in enumerate(self._strips):
            self._draw_strip(strip, number * BETWEEN_STRIPS_MS)
        self._show_figures()

    def _draw_strip(self, strip: _Strip, paint_after_ms: int) -> None:
        shown = has_source(strip.spec, self._history)
        strip.head.show_source(has_source=shown, why=self._reason(strip.spec))
        strip.chart.setVisible(shown)
        if strip.spec.name == "disk":
            unit = "gb" if shows_gigabytes_per_second(self._history) else "mb"
            strip.head.set_unit(f"ui.monitor.legend.disk_{unit}")
        if shown and not self._charts.isHidden():
            frame = frame_of(strip.spec, self._history)
            strip.chart.show_frame(frame, paint_after_ms=paint_after_ms)

    def _show_figures(self) -> None:
        """Write the figures of the moment pointed at, else of now."""
        look, index = self._looks.look, self._row_pointed_at()
        for strip in self._strips:
            values = {
                curve.value: None if index is None else self._history.ring.value_at(index, curve)
                for curve in strip.spec.curves
            }
            text = self._figure(strip.spec, values)
            strip.head.show_figure(text, self._reason(strip.spec))
            strip.chart.setAccessibleDescription(text)
        at = self._pointed_at
        self._axis[1].setText(
            look.text("ui.monitor.axis.middle" if at is None else "ui.monitor.axis.ago", seconds=-(at or 0))
        )

    def _figure(self, spec: StripSpec, values: Mapping[str, float | None]) -> str:
        look = self._looks.look
        if spec.name == "speed" and self._pointed_at is None and self._history.is_reading_prompt:
            return look.text("ui.monitor.figure.reading", speed=self._history.prompt_speed)
        words = [value_text(Curve(name), value) for name, value in values.items()]
        if all(value is None for value in values.values()):
            return words[0]
        total = self._history.vram_total_bytes
        if spec.name == "vram" and total is not None:
            used = values[Curve.VRAM]
            return look.text("ui.monitor.figure.vram", used=(used or 0) / 1024**3, total=total / 1024**3)
        return look.text("ui.monitor.figure.separator").join(words)

    def _row_pointed_at(self) -> int | None:
        ring = self._history.ring
        if self._pointed_at is None:
            return len(ring) - 1 if len(ring) else None
        seconds = self._history.now_seconds + self._pointed_at
        index = ring.index_near(seconds)
        if index is None or abs(float(ring.times[index]) - seconds) > _NEAREST_ROW_SECONDS:
            return None
        return index

    def _reason(self, spec: StripSpec) -> Finding | None:
        return reason_of(spec, self._sources, self._history)

    def _on_pointed(self, seconds: float | None) -> None:
        self._pointed_at = seconds
        for strip in self._strips:
            strip.chart.set_cursor(seconds)
        self._show_figures()

    def _on_table_clicked(self) -> None:
        shows_table = self._table.isHidden()
        if shows_table:
            self._table.show_history(self._history, self._wall_clock())
        self._table.setVisible(shows_table)
        self._charts.setVisible(not shows_table)
        self._table_button.set_icon_name("gauge" if shows_table else "grid")
        self._set_table_words()
        if not shows_table:
            self._draw()

    def _on_look_changed(self) -> None:
        look = self._looks.look
        for strip in self._strips:
            strip.chart.setAccessibleName(look.text(f"ui.monitor.{strip.spec.name}.chart"))
        for label, name in zip(self._axis, ("start", "middle", "end"), strict=True):
            label.setText(look.text(f"ui.monitor.axis.{name}"))
        self._events_title.setText(look.text("ui.monitor.events"))
        self._events_count.setText(str(len(self._events.rows)))
        self._fit_events()
        self._set_table_words()
        if self._can_be_seen():
            self._draw()

    def _fit_events(self) -> None:
        """Give the events the height of a few lines; more of them scroll, so that the charts keep theirs."""
        rows = self._events.rows[:_EVENTS_IN_SIGHT]
        self._events_area.setFixedHeight(sum(line.sizeHint().height() + EVENT_GAP for line in rows))

    def _set_table_words(self) -> None:
        key = "ui.monitor.show_table" if self._table.isHidden() else "ui.monitor.show_charts"
        self._table_button.set_words(self._looks.look.text(key))

    def _chart_holder(self) -> QWidget:
        layout = QVBoxLayout()
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(3)
        for strip in self._strips:
            layout.addWidget(strip.head)
            layout.addWidget(strip.chart, _ALL_STRETCH)
            layout.addSpacing(3)
        axis = row(
            self._axis[0], None, self._axis[1], None, self._axis[2], margins=(LEFT_AXIS, 0, RIGHT_AXIS, 0)
        )
        layout.addLayout(axis)
        layout.addStretch(1)
        return holder(layout)

    def _lay_out(self) -> None:
        foot = row(self._events_title, self._events_count, None, self._table_button)
        body = column(
            self._charts, self._table, rule(), foot, self._events_area, None, gap=6, margins=(14, 6, 12, 8)
        )
        for widget in (self._charts, self._table):
            body.setStretchFactor(widget, _ALL_STRETCH)
        inner = holder(body)
        inner.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)
        area = scrolled(inner)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setLayout(column(area, gap=0))
