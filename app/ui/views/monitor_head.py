"""The line over a strip: its name, its legend, the figure of the moment; or why there is none."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.findings import Finding
from app.texts import NO_VALUE
from app.ui.charts.pens import LineKey, ShadeKey
from app.ui.theme.look import LookSource
from app.ui.views.monitor_strips import StripSpec
from app.ui.widgets.labels import ElidedLabel, TextLabel
from app.ui.widgets.layouts import row
from app.ui.window_actions import action_in_window


class StripHead(QWidget):
    """Shows facts of one strip; knows no history."""

    def __init__(self, looks: LookSource, spec: StripSpec) -> None:
        super().__init__()
        self._looks = looks
        self._spec = spec
        self._unit_key: str | None = None
        self._why: Finding | None = None
        self._has_source = True
        self._title = TextLabel("label")
        self._figure = TextLabel("label")
        self._reason = ElidedLabel("caption", "faint")
        self._reason.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._legend = [ElidedLabel("caption", "faint") for _ in spec.legend_keys]
        self._keys: list[QWidget] = []
        if spec.name == "speed":
            self._legend.append(ElidedLabel("caption", "faint"))
            self._keys.append(ShadeKey(looks))
        elif len(spec.legend_keys) > 1:
            self._keys += [LineKey(looks, s.series, is_dashed=s.is_dashed) for s in spec.curves.values()]
        self._lay_out()
        looks.changed.connect(self._set_words)
        self._set_words()

    @property
    def figure_text(self) -> str:
        """The figure beside the title."""
        return self._figure.text()

    @property
    def figure_reason(self) -> str:
        """Why the figure is a dash; empty when it is none."""
        return self._figure.toolTip()

    @property
    def reason_text(self) -> str:
        """Why there is no strip, in a few words; empty when there is one."""
        return "" if self._has_source else self._reason.text()

    def show_figure(self, text: str, why_missing: Finding | None) -> None:
        """Show the figure of the moment; where it has no value, the reason is its tool tip."""
        self._figure.setText(text)
        self._figure.setToolTip(self._sentence(why_missing) if NO_VALUE in text else "")

    def show_source(self, *, has_source: bool, why: Finding | None) -> None:
        """Show legend and figure, or in their place why the strip is missing."""
        if (has_source, why) != (self._has_source, self._why):
            self._has_source, self._why = has_source, why
            self._set_words()

    def set_unit(self, key: str) -> None:
        """Name the unit of the only curve."""
        if key != self._unit_key:
            self._unit_key = key
            self._set_words()

    def _lay_out(self) -> None:
        items: list[QWidget | None] = [self._title]
        for index, label in enumerate(self._legend):
            items += [*self._keys[index : index + 1], label]
        items += [None, self._reason, self._figure]
        layout = row(*items, gap=5)
        layout.setStretchFactor(self._reason, 1)
        self.setLayout(layout)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def _set_words(self) -> None:
        look = self._looks.look
        self._title.setText(look.text(f"ui.monitor.{self._spec.name}"))
        keys = [self._unit_key] if self._unit_key else list(self._spec.legend_keys)
        if self._spec.name == "speed":
            keys.append("ui.monitor.legend.reading")
        for label, key in zip(self._legend, keys, strict=True):
            label.setText(look.text(key))
        for widget in (*self._legend, *self._keys):
            widget.setVisible(self._has_source)
        self._figure.setVisible(self._has_source)
        self._reason.setVisible(not self._has_source)
        code = "none" if self._why is None else self._why.code.value
        self._reason.setText(look.text(f"ui.monitor.why.{code}"))
        self.setToolTip("" if self._has_source else self._sentence(self._why))

    def _sentence(self, why: Finding | None) -> str:
        look = self._looks.look
        if self._spec.name == "speed":
            return look.text("ui.monitor.why.speed")
        if why is None:
            return look.text("ui.monitor.why.none_sentence")
        return f"{look.texts.finding(why).message}\n{action_in_window(look.texts, why)}"
