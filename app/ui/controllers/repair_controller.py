"""One repair at a time: planned, written, tried; nothing of it in the GUI thread."""

import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject, Signal

from app.files import system_finding
from app.findings import Finding, FindingCode, FindingError, error
from app.gguf.copy_writer import CopyCancelledError, write_copy
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.gguf.mended_header import impossible
from app.gguf.patched_copy import CopyPlan, plan_copy
from app.gguf.repair import RepairKind, choice_at_load, repairs_for
from app.gguf.repair_facts import RepairChoice
from app.gguf.value_text import value_of_text
from app.library.repair_check import CopyCheck, check_copy
from app.library.repair_memory import RepairMemory, inspect_remembered
from app.parsing.template_findings import with_template_checked
from app.ui.tasks import Tasks
from app.ui.views.repair_view import RepairPhase, RepairView

CLOSE_SECONDS: Final = 2.0
_TOLD_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True)
class RepairPorts:
    """Where the controller asks; everything blocks.

    Attributes:
        ram_free_bytes: What a model may take now; None when the system does not tell.
    """

    ram_free_bytes: Callable[[], int | None]
    inspect: Callable[[Path], InspectedFile] = inspect_remembered
    memory: Callable[[], RepairMemory] = RepairMemory
    check: Callable[[Path, int | None], CopyCheck] = check_copy


@dataclass(frozen=True, slots=True)
class _Planned:
    inspected: InspectedFile
    view: RepairView


class RepairController(QObject):
    """Mends one model. Methods return at once; what they lead to comes as signals.

    Signals:
        view_changed: a `RepairView`.
        decided: the Path of a model that is loaded with other values from now on.
        value_refused: the key whose value does not fit.
        failed: a `Finding`: a decision could not be kept.
    """

    view_changed = Signal(object)
    decided = Signal(object)
    value_refused = Signal(str)
    failed = Signal(object)

    def __init__(self, tasks: Tasks, ports: RepairPorts) -> None:
        super().__init__()
        self._tasks = tasks
        self._ports = ports
        self._job = 0  # results of an older job than this are outdated
        self._cancelled = threading.Event()
        self._writing = threading.Lock()  # held while a copy is written
        self._inspected: InspectedFile | None = None
        self._view: RepairView | None = None
        self._planned: RepairView | None = None  # before a value was written

    @property
    def view(self) -> RepairView | None:
        """The repair as it is now; None before the first."""
        return self._view

    def switch(self, path: Path, *, is_on: bool) -> None:
        """Give the engine the right values of a file at load from now on, or nothing."""
        job = partial(_switch, self._ports, path, is_on=is_on)
        self._tasks.run_in_background(job, self.decided.emit, self._on_not_kept)

    def plan(self, path: Path) -> None:
        """Look at a file and plan its repair."""
        self._begin(RepairView(RepairPhase.PLANNING, path))
        job = partial(_plan, self._ports, path)
        fail = partial(self._fail, self._job, RepairPhase.IMPOSSIBLE)
        self._tasks.run_in_background(job, partial(self._on_planned, self._job), fail)

    def preview(self, texts: Mapping[str, str]) -> None:
        """Plan again with what is written, so that every byte is shown before it is."""
        view, inspected = self._view, self._inspected
        if (
            view is None
            or inspected is None
            or self._planned is None
            or view.phase is not RepairPhase.PLANNED
        ):
            return
        self._job += 1
        is_whole = all(text.strip() for text in texts.values())
        choice = self._choice(texts) if is_whole else None
        if choice is None:
            self._show(replace(view, plan=self._planned.plan))
            return
        job = partial(_preview, inspected, choice)
        fail = partial(self._fail, self._job, RepairPhase.PLANNED)
        self._tasks.run_in_background(job, partial(self._on_previewed, self._job), fail)

    def load_with(self, texts: Mapping[str, str]) -> None:
        """Keep the values a person gave, for the load."""
        choice = self._choice(texts)
        if choice is not None and self._inspected is not None:
            job = partial(_keep, self._ports, self._inspected, choice)
            self._tasks.run_in_background(job, self.decided.emit, self._on_not_kept)

    def make(self, texts: Mapping[str, str], target: Path) -> None:
        """Write the copy with the values a person gave, and try it."""
        choice, view = self._choice(texts), self._view
        if choice is None or view is None or self._inspected is None:
            return
        self._begin(replace(view, phase=RepairPhase.WRITING, done_bytes=0, failure=None, check=None))
        tell = _Teller(self._tasks, partial(self._on_progress, self._job), self._cancelled)
        job = partial(_make, self._inspected, choice, target, _Writing(tell, self._writing))
        fail = partial(self._fail, self._job, RepairPhase.PLANNED)
        self._tasks.run_in_background(job, partial(self._on_made, self._job), fail)

    def cancel(self) -> None:
        """Give up what is under way; nothing of a copy stays."""
        self._job += 1
        self._cancelled.set()

    def close(self) -> None:
        """Give up what is under way, and wait until nothing of a copy is left."""
        self.cancel()
        if self._writing.acquire(timeout=CLOSE_SECONDS):
            self._writing.release()

    def delete_copy(self) -> None:
        """Delete a copy that does not work."""
        if self._view is not None and self._view.plan is not None:
            self._tasks.run_in_background(partial(_remove, self._view.plan))

    def _begin(self, view: RepairView) -> None:
        self.cancel()
        self._cancelled = threading.Event()
        self._show(view)

    def _choice(self, texts: Mapping[str, str]) -> RepairChoice | None:
        """Return the decision with what was written; tells which value does not fit."""
        if self._inspected is None:
            return None
        chosen = dict(self._inspected.choice.chosen)
        for key, text in texts.items():
            try:
                chosen[key] = value_of_text(key, text.strip(), self._inspected)
            except ValueError:
                self.value_refused.emit(key)
                return None
        return RepairChoice(self._inspected.choice.off - chosen.keys(), tuple(chosen.items()))

    def _on_planned(self, job: int, planned: _Planned) -> None:
        if job == self._job:
            self._inspected, self._planned = planned.inspected, planned.view
            self._show(planned.view)

    def _on_previewed(self, job: int, plan: CopyPlan) -> None:
        if job == self._job and self._view is not None:
            self._show(replace(self._view, plan=plan, failure=None))

    def _on_progress(self, job: int, done: int) -> None:
        if job == self._job and self._view is not None and self._view.phase is RepairPhase.WRITING:
            self._show(replace(self._view, done_bytes=done))

    def _on_made(self, job: int, plan: CopyPlan) -> None:
        if job != self._job or self._view is None:
            _forget(self._tasks, plan)  # it was cancelled at the last moment
            return
        self._show(replace(self._view, phase=RepairPhase.CHECKING, plan=plan, done_bytes=plan.size_bytes))
        check = partial(_try, self._ports, plan)
        fail = partial(self._fail, self._job, RepairPhase.BROKEN)
        self._tasks.run_in_background(check, partial(self._on_checked, self._job), fail)

    def _on_checked(self, job: int, check: CopyCheck) -> None:
        if job == self._job and self._view is not None:
            phase = RepairPhase.DONE if check.failure is None else RepairPhase.BROKEN
            self._show(replace(self._view, phase=phase, check=check, failure=check.failure))

    def _on_not_kept(self, reason: Exception) -> None:
        self.failed.emit(_finding_of(reason))

    def _fail(self, job: int, phase: RepairPhase, reason: Exception) -> None:
        if isinstance(reason, CopyCancelledError):
            return
        finding = _finding_of(reason)
        if job == self._job and self._view is not None:
            self._show(replace(self._view, phase=phase, failure=finding))

    def _show(self, view: RepairView) -> None:
        self._view = view
        self.view_changed.emit(view)


class _Teller:
    """Carries progress into the GUI thread, ten times a second, and ends the copy when it is not wanted."""

    def __init__(self, tasks: Tasks, on_progress: Callable[[int], None], cancelled: threading.Event) -> None:
        self._tasks = tasks
        self._on_progress = on_progress
        self._cancelled = cancelled
        self._told = 0.0

    def __call__(self, done: int, total: int) -> None:
        if self._cancelled.is_set():
            raise CopyCancelledError
        now = time.monotonic()
        if now - self._told >= _TOLD_SECONDS or done == total:
            self._told = now
            self._tasks.post(partial(self._on_progress, done))


@dataclass(frozen=True, slots=True)
class _Writing:
    """How a copy in the making is told of, and what is held meanwhile."""

    tell: _Teller
    lock: threading.Lock


def _finding_of(reason: Exception) -> Finding:
    if isinstance(reason, FindingError):
        return reason.finding
    if isinstance(reason, OSError):
        return system_finding(reason)
    raise reason


def _plan(ports: RepairPorts, path: Path) -> _Planned:
    inspected = with_template_checked(ports.inspect(path)).inspected
    plan = plan_copy(inspected)
    view = RepairView(
        RepairPhase.PLANNED,
        inspected.facts.path,
        plan=plan,
        asked=plan.undecided,
        loads_with_values=all(repair.kind is RepairKind.OVERRIDE for repair in repairs_for(inspected)),
    )
    if plan.left:
        codes = tuple(dict.fromkeys(finding.code.value for finding in plan.left))
        failure = error(FindingCode.REPAIR_IMPOSSIBLE, file=plan.source.name, codes=codes)
        view = replace(view, phase=RepairPhase.IMPOSSIBLE, failure=failure)
    return _Planned(inspected, view)


def _preview(inspected: InspectedFile, choice: RepairChoice) -> CopyPlan:
    return plan_copy(inspect_path(inspected.facts.path, choice))


def _make(inspected: InspectedFile, choice: RepairChoice, target: Path, writing: _Writing) -> CopyPlan:
    plan = plan_copy(inspect_path(inspected.facts.path, choice), target)
    if not plan.is_ready:
        raise FindingError(impossible(inspected))
    with writing.lock:
        write_copy(plan, writing.tell)
    return plan


def _try(ports: RepairPorts, plan: CopyPlan) -> CopyCheck:
    return ports.check(plan.model, ports.ram_free_bytes())


def _switch(ports: RepairPorts, path: Path, *, is_on: bool) -> Path:
    inspected = with_template_checked(ports.inspect(path)).inspected
    keys = {right.key for right in inspected.right_values if right.is_decided and right.is_overridable}
    choice = replace(inspected.choice, off=frozenset() if is_on else frozenset(keys))
    return _keep(ports, inspected, choice)


def _keep(ports: RepairPorts, inspected: InspectedFile, choice: RepairChoice) -> Path:
    path = inspected.facts.path
    ports.memory().remember(path, choice_at_load(replace(inspected, choice=choice)))
    return path


def _forget(tasks: Tasks, plan: CopyPlan) -> None:
    tasks.run_in_background(partial(_remove, plan))


def _remove(plan: CopyPlan) -> None:
    if plan.is_split:
        shutil.rmtree(plan.target, ignore_errors=True)
    else:
        plan.target.unlink(missing_ok=True)
