"""Models the person may want: loaded before, lying where models lie, and the one Moxie makes."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from app.gguf.folder import models_in
from app.library.default_model import default_model_path
from app.paths import models_folder
from app.texts import format_bytes
from app.ui.views.palette_rows import PaletteModel


def known_models(recent: Sequence[str]) -> tuple[PaletteModel, ...]:
    """Look for models. Reads folders and headers: never in the GUI thread.

    Args:
        recent: Paths of models loaded before, the newest first; those that are gone are left out.
    """
    recent_paths = [path for path in map(Path, recent) if _size(path) is not None]
    folders = dict.fromkeys([*(path.parent for path in recent_paths), models_folder()])
    default = default_model_path()
    return (
        *_rows(recent_paths, "recent"),
        *_rows((path for folder in folders for path in _models_of(folder) if path != default), "found"),
        *_rows([default] if default is not None else [], "default"),
    )


def _rows(paths: Iterable[Path], group: str) -> Iterable[PaletteModel]:
    for path in paths:
        size_bytes = _size(path)
        if size_bytes is not None:
            yield PaletteModel(path, path.stem, f"{format_bytes(size_bytes)} · {path.parent}", group)


def _models_of(folder: Path) -> tuple[Path, ...]:
    try:
        return models_in(folder)
    except OSError:  # unplugged, or not ours to read
        return ()


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return None
