"""Joins the machine with the bars, the monitor and the cards that show it."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Slot

from app.chat.turn import TurnEvent
from app.engine.engine_on_machine import EngineOnMachine
from app.engine.packs import EngineEntry, list_engines
from app.engine.protocol import Failed, Finished
from app.findings import Finding
from app.hardware.facts import GpuInfo, HardwareFacts, Sample
from app.hardware.gpu_choice import without_excluded
from app.ui.controllers.model_controller import ModelController
from app.ui.controllers.use_watch import UseWatch
from app.ui.machine_text import machine_text
from app.ui.main_window import SETTINGS
from app.ui.model_view import ModelPhase, ModelView
from app.ui.parts import Parts
from app.ui.views.state_words import model_name
from app.ui.views.words import Words
from app.ui.widgets.dialogs import TextDialog
from app.ui.window_actions import SHOWS_MACHINE

_EVENT_OF_PHASE = {
    ModelPhase.LOADING: ("load", "ui.event.loading"),
    ModelPhase.READY: ("load", "ui.event.ready"),
    ModelPhase.UNLOADING: ("load", "ui.event.unloading"),
    ModelPhase.FAILED: ("error", "ui.event.failed"),
}
"""Phase -> kind of the mark on the time axis, and its sentence."""


class MachineWiring(QObject):
    """Carries samples, hardware and speeds to what shows them. GUI thread."""

    def __init__(self, parts: Parts, model: ModelController) -> None:
        super().__init__()
        self._parts = parts
        self._view = ModelView()
        self._sample: Sample | None = None
        self._model = model
        self._watch = UseWatch()
        self._of_engine: tuple[Finding, ...] = ()
        self._devices = (parts.preferences.settings.engine, parts.preferences.settings.excluded_gpus)
        for view in (parts.window.dock.plan_tab, parts.window.models_page):
            view.finding_action_requested.connect(self._on_finding_action)
        parts.window.seen_changed.connect(parts.machine.set_active)
        parts.machine.sample_taken.connect(self._on_sample)
        parts.machine.hardware_arriving.connect(self._on_hardware_arriving)
        parts.machine.hardware_changed.connect(self._on_hardware)
        parts.machine.engine_seen.connect(self._on_engine_seen)
        parts.preferences.changed.connect(self._on_preferences_changed)
        card = parts.window.chat_place.stage.first_run.hardware
        card.report_requested.connect(self._on_report_requested)
        card.machine_requested.connect(self._on_machine_requested)
        card.settings_requested.connect(partial(parts.window.show_place, SETTINGS))
        model.view_changed.connect(self._on_view_changed)
        model.speed_changed.connect(self._on_speed)
        model.answer_event.connect(self._on_answer_event)
        parts.looks.changed.connect(self._show_memory)
        self._show_memory()

    @Slot(object)
    def _on_sample(self, sample: Sample) -> None:
        sample = self._of_used_cards(sample)
        self._sample = sample
        self._show_memory()
        self._parts.window.dock.monitor_tab.show_sample(sample)
        self._watch_use(sample)

    @Slot(object)
    def _on_hardware(self, hardware: HardwareFacts) -> None:
        window, excluded = self._parts.window, self._parts.preferences.settings.excluded_gpus
        used = without_excluded(hardware, excluded)
        window.status_bar.show_hardware(used)
        window.chat_place.stage.first_run.show_hardware(hardware, excluded)
        window.dock.monitor_tab.set_sources(hardware.findings)
        totals = [gpu.vram_total_bytes for gpu in used.gpus if not gpu.is_integrated]
        window.dock.monitor_tab.set_budget(next((total for total in totals if total), None))

    @Slot(object)
    def _on_hardware_arriving(self, hardware: HardwareFacts) -> None:
        excluded = self._parts.preferences.settings.excluded_gpus
        self._parts.window.chat_place.stage.first_run.show_arriving(hardware, excluded)

    @Slot()
    def _on_preferences_changed(self) -> None:
        settings, hardware = self._parts.preferences.settings, self._parts.machine.hardware
        devices = (settings.engine, settings.excluded_gpus)
        if devices != self._devices and hardware is not None:
            self._devices = devices
            self._on_hardware(hardware)
            self._parts.machine.see_engine()

    @Slot(object)
    def _on_engine_seen(self, seen: EngineOnMachine) -> None:
        self._of_engine = seen.findings
        if seen.usable is not None:
            self._parts.window.status_bar.show_hardware(seen.usable, is_usable=True)
        self._parts.window.chat_place.stage.first_run.hardware.show_engine_findings(seen.findings)

    def _used_gpus(self) -> tuple[GpuInfo, ...]:
        hardware = self._parts.machine.hardware or HardwareFacts(None)
        return without_excluded(hardware, self._parts.preferences.settings.excluded_gpus).gpus

    def _of_used_cards(self, sample: Sample) -> Sample:
        if not self._parts.preferences.settings.excluded_gpus or self._parts.machine.hardware is None:
            return sample
        used = {gpu.index for gpu in self._used_gpus()}
        return replace(sample, gpus=tuple(gpu for gpu in sample.gpus if gpu.index in used))

    def _watch_use(self, sample: Sample) -> None:
        """Tell once per load when a driver moved part of the model to RAM."""
        if not self._view.is_loaded:
            return
        for finding in self._watch.add_sample(sample, self._used_gpus()):
            self._model.add_use_finding(finding)
            monitor = self._parts.window.dock.monitor_tab
            monitor.add_event("warning", "ui.event.found", {"what": _reason(finding)})

    @Slot(object)
    def _on_view_changed(self, view: ModelView) -> None:
        before, self._view = self._view, view
        if view.loaded is not None and before.loaded is None:
            self._watch = UseWatch()
        if view.phase is not before.phase:
            self._parts.machine.set_generating(view.phase in (ModelPhase.GENERATING, ModelPhase.STOPPING))
            self._mark(before, view)
        self._show_memory()

    @Slot(object, bool)
    def _on_speed(self, tokens_per_second: float | None, is_prefill: bool) -> None:
        self._parts.window.dock.monitor_tab.show_speed(tokens_per_second, is_prefill=is_prefill)
        if tokens_per_second is not None and not is_prefill:
            self._watch.add_speed(tokens_per_second)

    @Slot()
    def _show_memory(self) -> None:
        self._parts.window.model_bar.show_memory(self._sample, self._view)

    @Slot(object)
    def _on_answer_event(self, event: TurnEvent) -> None:
        monitor = self._parts.window.dock.monitor_tab
        if isinstance(event, Finished):
            timings = event.timings
            if timings.predicted_tokens_per_second is not None:
                self._watch.add_speed(timings.predicted_tokens_per_second)
            values = {"tokens": timings.predicted_tokens, "speed": timings.predicted_tokens_per_second}
            monitor.add_event("message", "ui.event.reply", values)
            # an answer too short to be timed while it came has its point in the curve too
            monitor.show_speed(timings.predicted_tokens_per_second, is_prefill=False)
        elif isinstance(event, Failed):
            monitor.add_event("error", "ui.event.reply_failed", {})

    @Slot(object)
    def _on_finding_action(self, finding: Finding) -> None:
        if finding.code in SHOWS_MACHINE:
            self._on_machine_requested()

    @Slot()
    def _on_machine_requested(self) -> None:
        chosen = self._parts.preferences.settings.engine
        self._parts.tasks.run_in_background(partial(list_engines, chosen), self._show_machine)

    @Slot()
    def _on_report_requested(self) -> None:
        chosen = self._parts.preferences.settings.engine
        self._parts.tasks.run_in_background(partial(list_engines, chosen), self._copy_machine)

    def _said(self, engines: Sequence[EngineEntry]) -> str:
        hardware = self._parts.machine.hardware or HardwareFacts(None)
        judged = replace(hardware, findings=(*hardware.findings, *self._of_engine))
        return machine_text(self._parts.looks.look.texts, judged, engines)

    def _copy_machine(self, engines: Sequence[EngineEntry]) -> None:
        parts, texts = self._parts, self._parts.looks.look.texts
        parts.desktop.copy(self._said(engines))
        parts.window.show_toast(texts.text("ui.report.copied"))

    def _show_machine(self, engines: Sequence[EngineEntry]) -> None:
        parts = self._parts
        texts = parts.looks.look.texts
        TextDialog(parts.looks, texts.text("ui.machine.title"), self._said(engines), parts.window).open()

    def _mark(self, before: ModelView, view: ModelView) -> None:
        event = _EVENT_OF_PHASE.get(view.phase)
        is_after_answer = view.phase is ModelPhase.READY and before.is_loaded
        if event is not None and not is_after_answer:
            kind, key = event
            values: dict[str, object] = {"name": model_name(view)}
            if view.phase is ModelPhase.FAILED and view.failure is not None:
                key, values["reason"] = "ui.event.failed_why", _reason(view.failure)
            self._parts.window.dock.monitor_tab.add_event(kind, key, values)


def _reason(failure: Finding) -> Words:
    return Words(f"finding.{failure.code.value}", failure.values)
