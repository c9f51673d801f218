"""Writes a planned copy: under another name until it is complete and on disk; nothing is left otherwise."""

import os
import shutil
import stat
import sys
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Final

from app.files import storage_finding
from app.findings import Finding, FindingCode, FindingError, error
from app.gguf.block_clone import MOST_BYTES, BlockCloner, system_cloner
from app.gguf.patched_copy import CopyPlan, PartPlan, PartWay, source_state
from app.gguf.unfinished import remove_left_behind, unfinished_place

CopyListener = Callable[[int, int], None]
"""Gets (bytes done, bytes in all). Raising `CopyCancelledError` ends the copy; nothing is left of it."""

PIECE_BYTES: Final = 8 * 1024**2
_OPEN_FILES: Final = "/proc/self/fd"

SYNC_BYTES: Final = 64 * 1024**2
"""Written to the disk at least so often, so that neither a cancel nor the end waits for a full cache."""


class CopyCancelledError(Exception):
    """The person does not want the copy any more."""


def write_copy(
    plan: CopyPlan, on_progress: CopyListener | None = None, cloner: BlockCloner | None = None
) -> None:
    """Make the copy; the original is only read.

    Args:
        on_progress: Called in the caller's thread, several times a second.

    Raises:
        FindingError: `DISK_FULL`, `STORE_READ_ONLY`, `REPAIR_TARGET_EXISTS`, or `REPAIR_IMPOSSIBLE` when the
            original has changed since it was planned. Nothing is left behind.
        CopyCancelledError: from `on_progress`; likewise.
    """
    _check(plan)
    remove_left_behind(plan.target.parent)
    job = _Job(plan, cloner or system_cloner(), on_progress)
    try:
        if plan.is_split:
            _write_folder(plan, job)
        else:
            _write_file(plan, job)
    except FileExistsError as reason:
        raise FindingError(_exists(plan)) from reason
    except OSError as reason:
        raise FindingError(storage_finding(reason, plan.target, plan.new_bytes)) from reason


def _check(plan: CopyPlan) -> None:
    """Refuse what is known not to work before a byte is written."""
    if os.path.lexists(plan.target):
        raise FindingError(_exists(plan))
    try:
        state = source_state([part.source for part in plan.parts])
        free = shutil.disk_usage(plan.target.parent).free
    except OSError as reason:
        raise FindingError(storage_finding(reason, plan.target, plan.new_bytes)) from reason
    if state != plan.source_state:
        raise FindingError(_changed(plan.source))
    if free < plan.new_bytes:
        path, needed = str(plan.target), plan.new_bytes
        full = error(FindingCode.DISK_FULL, path=path, needed_bytes=needed, free_bytes=free, detail="")
        raise FindingError(full)


def _changed(source: str | os.PathLike[str]) -> Finding:
    return error(FindingCode.REPAIR_IMPOSSIBLE, file=Path(source).name, codes=("file-changed",))


def _exists(plan: CopyPlan) -> Finding:
    return error(FindingCode.REPAIR_TARGET_EXISTS, path=str(plan.target))


def _write_file(plan: CopyPlan, job: "_Job") -> None:
    descriptor = _nameless(plan.target.parent)
    if descriptor is None:
        _write_named(plan, job)
        return
    with FileIO(descriptor, "wb") as stream:
        job.write(plan.parts[0], stream)
        mode = stat.S_IMODE(plan.parts[0].source.stat().st_mode)
        os.chmod(descriptor, mode)  # noqa: PTH101  # it has no path
        os.link(f"{_OPEN_FILES}/{descriptor}", plan.target, src_dir_fd=descriptor, follow_symlinks=True)


def _nameless(folder: Path) -> int | None:
    """Open a file without a name, of which not even a kill leaves anything; None where there are none."""
    if sys.platform != "linux" or not Path(_OPEN_FILES).is_dir():
        return None
    try:
        return os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    except OSError:  # the named way says why, or works
        return None


def _write_named(plan: CopyPlan, job: "_Job") -> None:
    with unfinished_place(plan.target.parent) as part:
        with FileIO(part, "xb", opener=_private) as stream:
            job.write(plan.parts[0], stream)
        shutil.copymode(plan.parts[0].source, part)
        _publish(part, plan.target)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _publish(part: Path, target: Path) -> None:
    """Give the file its name, without taking it from another one."""
    if sys.platform == "win32":
        part.rename(target)  # refuses a name that is taken
        return
    try:
        os.link(part, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(target):
            raise FileExistsError(str(target)) from None
        part.rename(target)


def _write_folder(plan: CopyPlan, job: "_Job") -> None:
    with unfinished_place(plan.target.parent) as folder:
        folder.mkdir(0o700)
        for part in plan.parts:
            target = folder / part.name
            if part.way is PartWay.LINK:
                os.link(os.path.realpath(part.source), target)
                job.add(part.size_bytes)
            else:
                with target.open("xb", buffering=0) as stream:
                    job.write(part, stream)
        folder.chmod(0o755)
        if os.path.lexists(plan.target):
            raise FileExistsError(str(plan.target))
        folder.rename(plan.target)


class _Job:
    """Writes parts and counts what is done."""

    def __init__(self, plan: CopyPlan, cloner: BlockCloner, on_progress: CopyListener | None) -> None:
        self._total = plan.size_bytes
        self._cloner = cloner
        self._on_progress = on_progress
        self._done = 0
        self._unsynced = 0

    def add(self, size: int) -> None:
        """Note that `size` bytes more are in place."""
        self._done += size
        if self._on_progress is not None:
            self._on_progress(self._done, self._total)

    def write(self, part: PartPlan, target: FileIO) -> None:
        """Write one file whole, and to the disk."""
        head = part.head or b""
        moved = len(head) - part.data_offset_before
        with part.source.open("rb", buffering=0) as source:
            target.truncate(part.size_bytes)
            _write_fully(target, head)
            self.add(len(head))
            first, (start, end) = part.data_offset_before, part.shared_range
            self._copy(source, target, first, moved, max(start, first))
            self._clone(source, target, start, end, moved)
            self._copy(source, target, max(end, first), moved, part.size_bytes - moved)
        os.fsync(target.fileno())

    def _clone(self, source: FileIO, target: FileIO, start: int, end: int, moved: int) -> None:
        while start < end:
            size = min(MOST_BYTES, end - start)
            self._cloner.clone(source.fileno(), target.fileno(), start, start + moved, size)
            start += size
            self.add(size)

    def _copy(self, source: FileIO, target: FileIO, start: int, moved: int, end: int) -> None:
        source.seek(start)
        target.seek(start + moved)
        while start < end:
            piece = source.read(min(PIECE_BYTES, end - start))
            if not piece:
                raise FindingError(_changed(source.name))
            _write_fully(target, piece)
            start += len(piece)
            self._sync_sometimes(target, len(piece))
            self.add(len(piece))

    def _sync_sometimes(self, target: FileIO, written: int) -> None:
        self._unsynced += written
        if self._unsynced >= SYNC_BYTES:
            os.fsync(target.fileno())
            self._unsynced = 0


def _write_fully(target: FileIO, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[target.write(view) :]
