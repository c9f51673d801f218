"""The list of GPUs, each to be used or not."""

from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.hardware.facts import GpuInfo
from app.hardware.gpu_choice import gpu_key
from app.ui.theme.look import Look, LookSource
from app.ui.widgets.controls import Switch
from app.ui.widgets.labels import ElidedLabel
from app.ui.widgets.layouts import column, row


@dataclass(frozen=True, slots=True)
class GpuUse:
    """One GPU and whether engines may use it."""

    gpu: GpuInfo
    is_used: bool = True

    @property
    def key(self) -> str:
        """What the choice is kept under."""
        return gpu_key(self.gpu)


class GpuChoices(QWidget):
    """A switch per GPU.

    Signals:
        chosen: key of a GPU, and whether it is to be used.
    """

    chosen = Signal(str, bool)

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._looks = looks
        self._uses: tuple[GpuUse, ...] = ()
        self._rows: list[_GpuRow] = []
        self._layout: QVBoxLayout = column(gap=2)
        self.setLayout(self._layout)
        looks.changed.connect(self._set_texts)

    def show_gpus(self, uses: tuple[GpuUse, ...]) -> None:
        """Show the GPUs there are."""
        if [line.key for line in self._rows] != [use.key for use in uses]:
            self._rebuild([use.key for use in uses])
        self._uses = uses
        self._set_texts()

    def switches(self) -> dict[str, Switch]:
        """Return the switches by key."""
        return {line.key: line.switch for line in self._rows}

    def _rebuild(self, keys: list[str]) -> None:
        for old in self._rows:
            self._layout.removeWidget(old)
            old.hide()
            old.deleteLater()
        self._rows = [_GpuRow(self._looks, key) for key in keys]
        for line in self._rows:
            self._layout.addWidget(line)
            line.switch.clicked.connect(partial(self._on_clicked, line))

    def _on_clicked(self, line: "_GpuRow") -> None:
        self.chosen.emit(line.key, line.switch.isChecked())

    def _set_texts(self) -> None:
        for line, use in zip(self._rows, self._uses, strict=True):
            line.show_use(use)


class _GpuRow(QWidget):
    def __init__(self, looks: LookSource, key: str) -> None:
        super().__init__()
        self._looks = looks
        self.key = key
        self.switch = Switch(looks)
        self._title = ElidedLabel("body")
        self._detail = ElidedLabel("caption", "faint")
        layout = row(gap=20, margins=(0, 4, 0, 4))
        layout.addLayout(column(self._title, self._detail, gap=0), 1)
        layout.addWidget(self.switch)
        self.setLayout(layout)

    def show_use(self, use: GpuUse) -> None:
        look = self._looks.look
        detail = gpu_memory_words(look, use.gpu)
        self._title.setText(use.gpu.name)
        self._detail.setText(detail)
        self.switch.setChecked(use.is_used)
        self.switch.setAccessibleName(look.text("ui.settings.gpu_spoken", name=use.gpu.name))
        self.switch.setAccessibleDescription(detail)


def gpu_memory_words(look: Look, gpu: GpuInfo) -> str:
    """Return how much memory a GPU has, its own and what it may share apart."""
    own, free, shared = gpu.vram_total_bytes, gpu.vram_free_bytes, gpu.shared_total_bytes
    if own is None:
        words = None
    elif free is None:
        words = look.text("ui.hardware.gpu_own", total=own)
    else:
        words = look.text("ui.hardware.gpu_own_free", total=own, free=free)
    if shared is None:
        lent = look.text("ui.hardware.gpu_shared") if gpu.is_integrated else None
    else:
        lent = look.text("ui.hardware.gpu_shared_up_to", total=shared)
    parts = [part for part in (words, lent) if part]
    if not parts:
        return look.text("ui.hardware.gpu_unknown")
    return look.text("ui.hardware.gpu_both", own=parts[0], shared=parts[1]) if len(parts) > 1 else parts[0]
