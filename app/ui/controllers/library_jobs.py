"""What the library controller has done outside the GUI thread: finding models and judging them. No Qt."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.findings import FindingCode
from app.gguf.display_name import display_name
from app.gguf.facts import FileKind
from app.gguf.inspect_file import InspectedFile
from app.library.model_origins import ModelOrigin, program_folders
from app.library.repair_memory import inspect_remembered
from app.library.scan import ModelSummary, scan_folders
from app.library.summary_cache import SummaryCache
from app.planner.facts import MemoryBudget, Wishes
from app.planner.report import report_of
from app.ui.views.library_facts import Fit, LibraryModel, fit_of

_NOBODYS: Final = frozenset({ModelOrigin.MOXIE, ModelOrigin.OTHER})


@dataclass(frozen=True, slots=True)
class LibraryPlaces:
    """Where to look.

    Attributes:
        added: Files and folders the person added.
        recent: Files that were loaded before; their folders are looked into as well.
    """

    added: tuple[Path, ...] = ()
    recent: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class LibraryPorts:
    """Where the library controller asks; everything may block.

    Attributes:
        fresh_budget: Memory as it is now.
        cache_file: Where what was read before is kept; None keeps nothing.
        folders: The folders in which programs keep models, as far as they are there.
    """

    fresh_budget: Callable[[], MemoryBudget]
    cache_file: Path | None = None
    folders: Callable[[], tuple[Path, ...]] = program_folders
    inspect: Callable[[Path], InspectedFile] = inspect_remembered


def find_models(
    ports: LibraryPorts,
    places: LibraryPlaces,
    on_model: Callable[[LibraryModel], None],
    is_cancelled: Callable[[], bool],
) -> None:
    """Call `on_model` for each model there is, as it is found; for one that two ways lead to, once."""
    seen: set[Path] = set()

    def tell(summary: ModelSummary) -> None:
        if summary.path not in seen:
            seen.add(summary.path)
            on_model(library_model(summary))

    added_folders, files = _sorted_out((*places.added, *places.recent))
    folders = [*ports.folders(), *added_folders, *_folders_of(places.recent)]
    with SummaryCache(ports.cache_file) as cache:
        scan_folders(folders, cache, tell, is_cancelled)
    for file in files:
        if is_cancelled():
            return
        if file not in seen:
            tell(ModelSummary.from_inspected(ports.inspect(file)))


def find_fits(ports: LibraryPorts, budget: MemoryBudget | None, paths: Sequence[Path]) -> "Fits":
    """Plan each model and say how it fits.

    Args:
        budget: None looks at the machine first.
    """
    budget = budget or ports.fresh_budget()
    found: dict[Path, Fit | None] = {}
    for path in paths:
        report = report_of(ports.inspect(path), budget, Wishes())
        fit = fit_of(report.facts, report.plan)
        is_refused = fit is None and report.facts.kind is FileKind.MODEL
        found[path] = Fit.REFUSED if is_refused else fit
    return Fits(budget, found)


@dataclass(frozen=True, slots=True)
class Fits:
    """How models fit a machine.

    Attributes:
        by_path: None for a file no engine would load.
    """

    budget: MemoryBudget
    by_path: dict[Path, Fit | None]


def library_model(summary: ModelSummary) -> LibraryModel:
    """Return the row of a model that was found."""
    name = display_name(summary.name, summary.title)
    words = (name, summary.title, summary.name, summary.path.name, summary.quantization, summary.architecture)
    kind_words = ("moe" if summary.is_moe else None, summary.kind.value, summary.origin.value)
    return LibraryModel(
        path=summary.path,
        name=name,
        kind=summary.kind,
        size_bytes=summary.size_bytes,
        quantization=summary.quantization,
        is_moe=summary.is_moe,
        part_count=len(summary.files),
        program=None if summary.origin in _NOBODYS else summary.origin.value,
        has_errors=not summary.loadable and summary.codes[:1] != (FindingCode.NOT_A_CHAT_MODEL,),
        search_text=" ".join(word for word in (*words, *kind_words) if word).casefold(),
    )


def _sorted_out(paths: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Return the folders and the files among `paths`; what is neither is gone."""
    folders, files = [], []
    for path in dict.fromkeys(paths):
        try:
            if path.is_dir():
                folders.append(path)
            elif path.is_file():
                files.append(path)
        except (OSError, ValueError):
            continue
    return folders, files


def _folders_of(files: Iterable[Path]) -> list[Path]:
    """Return the folders of files, but none that holds a person's whole home or a whole disk."""
    home = Path.home()
    folders = dict.fromkeys(file.parent for file in files)
    return [f for f in folders if not home.is_relative_to(f) and f.parent != f and _sorted_out([f])[0]]
