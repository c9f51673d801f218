"""What no value at load mends: the copy loads and answers in the real engine."""

import hashlib
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from app.engine.dry_run import engine_accepts
from app.gguf.copy_writer import write_copy
from app.gguf.inspect_file import inspect_path
from app.gguf.patched_copy import plan_copy
from app.gguf.repair_facts import RepairChoice
from app.library.repair_check import check_copy
from tests.models.tiny import write_tiny

pytestmark = pytest.mark.engine

A = "qwen3moe"
COUNT, USED = f"{A}.expert_count".encode(), f"{A}.expert_used_count".encode()
U32 = struct.pack("<I", 4)
PLENTY = 2**40


def _name(key: bytes) -> bytes:
    return struct.pack("<Q", len(key)) + key


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "used count missing": lambda b: b.replace(USED, USED[:-1] + b"X"),
    "type overwritten": lambda b: b.replace(COUNT + U32, COUNT + struct.pack("<I", 16)),
    "both": lambda b: b.replace(COUNT + U32, COUNT + struct.pack("<I", 16)).replace(USED, USED[:-1] + b"X"),
    "key twice": lambda b: b.replace(_name(f"{A}.vocab_size".encode()) + U32, _name(USED) + U32 + b""),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_copy_answers_where_the_original_is_refused(
    tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    path = write_tiny(A, tmp_path / "m.gguf")
    sound = path.read_bytes()
    content = change(sound)
    assert content != sound
    if len(content) != len(sound):  # the padding before the weights takes up the difference
        at = inspect_path(path).headers[0].data_offset
        shift = len(content) - len(sound)
        head = content[: at + shift]
        content = (head.rstrip(b"\0") if shift > 0 else head).ljust(at, b"\0") + sound[at:]
    path.write_bytes(content)
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    choice = RepairChoice(chosen=((f"{A}.expert_used_count", 2),))
    assert engine_accepts(path)[0] is not True
    plan = plan_copy(inspect_path(path, choice))
    assert plan.is_ready, (plan.left, plan.undecided)
    write_copy(plan)
    check = check_copy(plan.model, PLENTY)
    assert check.failure is None, check.findings
    assert check.accepted is True
    assert check.decoded_tokens is not None
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before


def test_a_copy_beyond_the_free_memory_is_only_shown_to_the_engine(tmp_path: Path) -> None:
    check = check_copy(write_tiny(A, tmp_path / "m.gguf"), 1024)
    assert (check.accepted, check.decoded_tokens, check.failure) == (True, None, None)


def test_a_copy_that_does_not_load_is_said_to_fail(tmp_path: Path) -> None:
    path = write_tiny(A, tmp_path / "m.gguf")
    path.write_bytes(path.read_bytes().replace(USED, USED[:-1] + b"X"))
    check = check_copy(path, PLENTY)
    assert check.failure is not None
    assert check.failure.values["reason"] == "findings-left"
