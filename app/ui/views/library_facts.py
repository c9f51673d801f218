"""The models Moxie knows of, as facts for the list: what each is, and whether this PC can run it. No Qt."""

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import Final

from app.findings import Severity
from app.gguf.facts import FileKind, ModelFacts
from app.planner.facts import OffloadPlan
from app.ui.views.measured import CPU

OWN: Final = "own"
OTHERS: Final = "others"
GROUPS: Final = (OWN, OTHERS)
"""The ends of their text keys, in the order shown."""


class Fit(StrEnum):
    """Where a model would go on this PC."""

    FITS = "fits"
    RAM = "ram"
    SSD = "ssd"
    TOO_BIG = "too_big"
    REFUSED = "refused"


FIT_TONES: Final = {
    Fit.FITS: "success",
    Fit.RAM: "info",
    Fit.SSD: "warning",
    Fit.TOO_BIG: "danger",
    Fit.REFUSED: "danger",
}


@dataclass(frozen=True, slots=True)
class LibraryModel:
    """One row of the list.

    Attributes:
        path: What is opened: the first part of a split model.
        kind: What the file holds.
        part_count: Files it consists of.
        program: Whose folder it lies in; None for Moxie's own and the person's.
        has_errors: Something in the file stops it from being loaded.
        search_text: What is searched, in lower case.
    """

    path: Path
    name: str
    kind: FileKind
    size_bytes: int
    quantization: str | None = None
    is_moe: bool = False
    part_count: int = 1
    program: str | None = None
    has_errors: bool = False
    search_text: str = ""

    @property
    def group(self) -> str:
        """One of `GROUPS`."""
        return OWN if self.program is None else OTHERS


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The head of a group and how many models are in it."""

    group: str
    count: int


LibraryRow = LibraryModel | GroupRow


def library_rows(models: Sequence[LibraryModel], words: str) -> tuple[LibraryRow, ...]:
    """Return heads, and the models whose name, file or kind holds all `words`, by name."""
    parts = words.casefold().split()
    shown = [model for model in models if all(part in model.search_text for part in parts)]
    rows: list[LibraryRow] = []
    for group in GROUPS:
        members = [model for model in shown if model.group == group]
        if members:
            rows += [GroupRow(group, len(members)), *members]
    return tuple(rows)


def told_apart(rows: Sequence[LibraryRow]) -> dict[Path, str]:
    """Return what tells models of the same name apart: the file's name, with its folder where that is needed.

    Those that differ in quantization, which is shown of every model, need nothing more.
    """
    models = [row for row in rows if isinstance(row, LibraryModel)]
    counts = Counter(map(_WORDS, models))  # of thousands, each time a letter is typed
    alike = [model for model in models if counts[_WORDS(model)] > 1] if len(counts) < len(models) else []
    files = Counter((_WORDS(model), model.path.name) for model in alike)
    return {
        model.path: model.path.name
        if files[_WORDS(model), model.path.name] == 1
        else f"{model.path.parent.name}{os.sep}{model.path.name}"
        for model in alike
    }


_WORDS: Final = attrgetter("name", "quantization")
"""What a row says of a model that could tell it from another."""


def in_order(models: Iterable[LibraryModel]) -> tuple[LibraryModel, ...]:
    """Return models by name, then by size."""
    return tuple(sorted(models, key=lambda model: (model.name.casefold(), model.size_bytes, str(model.path))))


def fit_of(facts: ModelFacts, plan: OffloadPlan | None) -> Fit | None:
    """Return where a plan puts a model; None without a plan.

    Without a graphics card everything fits that RAM holds.
    """
    if plan is None:
        return None
    if any(finding.severity is Severity.ERROR for finding in plan.findings):
        return Fit.TOO_BIG
    if plan.disk_bytes:
        return Fit.SSD
    has_gpu = any(device.name != CPU for device in plan.devices)
    options = plan.options
    is_whole = options.n_gpu_layers > (facts.block_count or len(facts.layers))
    leaves_experts = options.n_cpu_moe or options.cpu_moe or options.cpu_moe_blocks
    is_split = bool(facts.is_moe and leaves_experts) or not is_whole
    return Fit.RAM if has_gpu and is_split else Fit.FITS
