"""The line at the foot: what stays here, how full the context is, what computes, what was found."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.findings import Finding, FindingCode, Severity
from app.hardware.facts import GpuInfo, HardwareFacts
from app.ui.model_view import ModelView
from app.ui.theme.look import Look, LookSource
from app.ui.theme.tokens import LAYOUT
from app.ui.views.findings_button import ICON_PIXELS, FindingsButton
from app.ui.widgets.labels import ElidedLabel, IconLabel, TextLabel
from app.ui.widgets.layouts import holder, row
from app.ui.widgets.panel import Panel

_COUNTED: Final = (
    (Severity.ERROR, "ui.status.one_error", "ui.status.errors"),
    (Severity.WARNING, "ui.status.one_warning", "ui.status.warnings"),
    (Severity.NOTE, "ui.status.one_note", "ui.status.notes"),
)


class StatusBar(Panel):
    """Facts that hold on every page.

    Signals:
        findings_requested: the findings are to be shown.
    """

    findings_requested = Signal()

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(looks, "top", parent=parent)
        self._looks = looks
        self._view = ModelView()
        self._hardware: HardwareFacts | None = None
        self._is_usable = False
        self._use: tuple[int | None, int | None] = (None, None)
        self.local = TextLabel("caption", "faint")
        self.context = TextLabel("caption", "faint")
        self.device = ElidedLabel("caption", "faint")
        self.findings = FindingsButton(looks)
        self._context_item = self._item("gauge", self.context)
        self._device_icon = IconLabel(looks, "gpu", "text_faint", ICON_PIXELS)
        line = row(self._item("shield", self.local), self._context_item, gap=18, margins=(14, 1, 10, 0))
        line.addWidget(holder(row(self._device_icon, self.device, gap=5)), 1)
        line.addWidget(self.findings)
        line.addStrut(LAYOUT["status_bar"] - 1)
        self.setLayout(line)
        self.findings.clicked.connect(self.findings_requested)
        looks.changed.connect(self._apply_look)
        self._apply_look()

    def show_view(self, view: ModelView) -> None:
        """Count what was found about the model."""
        self._view = view
        self._show_findings()
        self._show_device()

    def show_hardware(self, hardware: HardwareFacts | None, *, is_usable: bool = False) -> None:
        """Name what computes; None while it is being looked for.

        Args:
            is_usable: These are the cards that the chosen engine can use.
        """
        self._hardware, self._is_usable = hardware, is_usable
        self._show_device()

    def set_context_use(self, used: int | None, total: int | None) -> None:
        """Show tokens of context in use; hidden where nothing is known."""
        self._use = (used, total)
        self._show_context()

    def _item(self, icon_name: str, label: TextLabel) -> QWidget:
        return holder(row(IconLabel(self._looks, icon_name, "text_faint", ICON_PIXELS), label, gap=5))

    def _show_findings(self) -> None:
        look, view = self._looks.look, self._view
        self.findings.show_count(*findings_words(look, view.findings))
        self.findings.setToolTip(look.text("ui.status.findings_tip"))
        self.findings.setAccessibleDescription(look.text("ui.status.findings_tip"))
        self.findings.setVisible(view.facts is not None or bool(view.findings))

    def _show_context(self) -> None:
        look, (used, total) = self._looks.look, self._use
        self._context_item.setVisible(used is not None and total is not None)
        if used is not None and total is not None:
            self.context.setText(look.text("ui.status.context", used=_short(used), total=_short(total)))
            self.context.setToolTip(look.text("ui.status.context_tip", used=used, total=total))

    def _show_device(self) -> None:
        look = self._looks.look
        hardware = self._hardware
        if hardware is not None and _is_blind(self._view):
            hardware = replace(hardware, gpus=())
        text, has_gpu = device_words(look, hardware, is_usable=self._is_usable)
        self.device.setText(text)
        self._device_icon.set_icon("gpu" if has_gpu else "cpu")

    def _apply_look(self) -> None:
        look = self._looks.look
        self.setAccessibleName(look.text("ui.status.name"))
        self.local.setText(look.text("ui.status.local"))
        self.local.setToolTip(look.text("ui.status.local_tip"))
        self.device.setAccessibleDescription(look.text("ui.status.device_tip"))
        self._show_findings()
        self._show_context()
        self._show_device()


def findings_words(look: Look, findings: Sequence[Finding]) -> tuple[str, Severity | None]:
    """Return how many of the gravest kind there are, in words, and that kind."""
    for severity, one, many in _COUNTED:
        count = sum(1 for finding in findings if finding.severity is severity)
        if count:
            return look.text(one) if count == 1 else look.text(many, count=count), severity
    return look.text("ui.status.no_findings"), None


def _is_blind(view: ModelView) -> bool:
    """Return whether the engine of the loaded model saw none of the GPUs it was planned for."""
    findings = view.loaded.findings if view.loaded else ()
    return any(finding.code is FindingCode.ENGINE_GPU_UNSEEN for finding in findings)


def device_words(look: Look, hardware: HardwareFacts | None, *, is_usable: bool = False) -> tuple[str, bool]:
    """Return what computes models here, and whether that is a GPU."""
    if hardware is None:
        return look.text("ui.status.looking"), False
    able = [gpu for gpu in hardware.gpus if not gpu.is_lost and (is_usable or not gpu.is_integrated)]
    gpu = min(able, key=lambda gpu: gpu.is_integrated is True, default=None)
    if gpu is None:
        name = hardware.host.cpu.name if hardware.host else None
        return look.text("ui.status.cpu", cpu=name) if name else look.text("ui.status.cpu_only"), False
    driver = hardware.driver if gpu.vendor == "nvidia" else None
    if driver is None or driver.version is None:
        return short_gpu_name(gpu), True
    if driver.cuda_version is None:
        return look.text("ui.status.gpu_driver_only", gpu=short_gpu_name(gpu), driver=driver.version), True
    cuda = ".".join(map(str, driver.cuda_version))
    return look.text("ui.status.gpu_driver", gpu=short_gpu_name(gpu), driver=driver.version, cuda=cuda), True


def short_gpu_name(gpu: GpuInfo) -> str:
    """Return the name without its maker."""
    return gpu.name.removeprefix("NVIDIA ").removeprefix("GeForce ").removeprefix("AMD ")


def _short(tokens: int) -> str:
    if tokens < 1000:
        return str(tokens)
    thousands = tokens / 1024
    return f"{thousands:.0f}k" if thousands >= 10 and tokens % 1024 == 0 else f"{thousands:.1f}k"
