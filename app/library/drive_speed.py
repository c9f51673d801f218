"""The drive a model lies on: what to measure there, on request and when a model is first used from it."""

from dataclasses import replace
from pathlib import Path

from app.findings import Finding, FindingError, Severity
from app.gguf.facts import ModelFacts
from app.hardware.drives import drive_of
from app.hardware.facts import DiskInfo, HardwareFacts
from app.hardware.storage import USUAL_PIECE_BYTES, StorageTest, judge_storage
from app.hardware.storage_cache import StorageCache, known_or_measured
from app.paths import storage_speeds_file
from app.planner.expert_pieces import expert_piece_bytes
from app.planner.facts import OffloadPlan


def storage_test(
    file: Path, facts: ModelFacts, hardware: HardwareFacts
) -> tuple[DiskInfo | None, StorageTest]:
    """Return the drive of a file, and the test that reads it as the model would be read."""
    disk = drive_of(file.resolve(), hardware.host.disks if hardware.host else ())
    piece_bytes = expert_piece_bytes(facts) or USUAL_PIECE_BYTES
    return disk, StorageTest(file, piece_bytes, None if disk is None else disk.mount)


def judge_first_use(facts: ModelFacts, plan: OffloadPlan, hardware: HardwareFacts) -> tuple[Finding, ...]:
    """Return whether the drive is too slow for what a plan leaves on it. Measures at first, 3 s."""
    if not plan.disk_bytes:
        return ()
    disk, test = storage_test(facts.path, facts, hardware)
    if disk is None:
        return ()
    try:
        speed = known_or_measured(StorageCache(storage_speeds_file()), disk, test, lambda: False)
    except FindingError as reason:  # a load says what is wrong with the file
        return (replace(reason.finding, severity=Severity.WARNING),)
    return judge_storage(speed)
