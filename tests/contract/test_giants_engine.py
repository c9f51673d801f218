"""The engine takes the header of every real model: its dry run reads no weight and takes no memory."""

from pathlib import Path

import pytest

from app.engine.dry_run import engine_accepts
from tests.models.giants import GIANTS, Giant, giant_named, write_giant

pytestmark = pytest.mark.engine


@pytest.mark.parametrize("giant", GIANTS, ids=lambda giant: giant.name)
def test_the_engine_takes_it(giant: Giant, tmp_path: Path) -> None:
    (file,) = write_giant(giant, tmp_path)
    assert engine_accepts(file) == (True, ())


def test_the_engine_takes_one_in_five_parts(tmp_path: Path) -> None:
    parts = write_giant(giant_named("DeepSeek-V4-Flash"), tmp_path, parts=5)
    assert engine_accepts(parts[0]) == (True, ())
