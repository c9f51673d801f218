"""Ninety-nine files that are broken, or look it: each with what an engine does and what must be said."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.models.broken_case import BrokenCase, EngineOutcome, Expected, Witness
from tests.models.broken_container import CONTAINER_CASES
from tests.models.broken_metadata import METADATA_CASES
from tests.models.broken_shards import SHARD_CASES
from tests.models.broken_tensors import TENSOR_CASES

__all__ = [
    "BROKEN_CASES",
    "KILLERS",
    "BrokenCase",
    "EngineOutcome",
    "Expected",
    "Witness",
    "write_broken",
]

BROKEN_CASES: Final[tuple[BrokenCase, ...]] = (
    *CONTAINER_CASES,
    *TENSOR_CASES,
    *METADATA_CASES,
    *SHARD_CASES,
)

KILLERS: Final = tuple(case for case in BROKEN_CASES if case.engine_outcome is EngineOutcome.ABORTS)
"""An engine that is given one of these dies."""


def write_broken(folder: Path) -> Mapping[str, Path]:
    """Write all cases into `folder`; return the path to open of each, by name."""
    return {case.name: case.write(folder) for case in BROKEN_CASES}
