"""Patched copies: exactly the planned changes, the weights byte for byte, the original untouched."""

import errno
import hashlib
import os
import shutil
import stat
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import app.gguf.copy_writer as copy_writer
from app.findings import FindingCode, FindingError
from app.gguf.block_clone import LinuxCloner, block_for_cloning, duplicate_extents
from app.gguf.copy_writer import CopyCancelledError, write_copy
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.gguf.patched_copy import CopyPlan, PartWay, plan_copy
from app.gguf.reader import read_header
from app.gguf.repair import RepairKind, repairs_for
from app.gguf.repair_facts import RepairChoice
from tests.builders import Keys, moe_model, text, u16, u32, write_gguf, write_shards

A = "qwen3moe"
USED = f"{A}.expert_used_count"
BLOCK = 512
NOTES = {"moxie.repaired_from", "moxie.repairs", "moxie.padding"}


class FakeCloner:
    """A file system that shares blocks of 512 bytes: it copies, and notes where it was asked to."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int, int]] = []

    def block_bytes(self, folder: Path) -> int:
        return BLOCK

    def clone(self, source: int, target: int, source_offset: int, target_offset: int, size: int) -> None:
        assert source_offset % BLOCK == target_offset % BLOCK == size % BLOCK == 0
        os.lseek(source, source_offset, os.SEEK_SET)
        os.lseek(target, target_offset, os.SEEK_SET)
        os.write(target, os.read(source, size))
        self.ranges.append((source_offset, target_offset, size))


class NoCloner(FakeCloner):
    """A file system that shares nothing."""

    def clone(self, source: int, target: int, source_offset: int, target_offset: int, size: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "not supported")


def write_random_weights(path: Path, keys: Keys, tensors: Any) -> Path:
    write_gguf(path, keys, tensors)
    header = read_header(path)
    with path.open("r+b") as file:
        file.seek(header.data_offset)
        file.write(os.urandom(header.file_size - header.data_offset))
    return path


def model_without_used(folder: Path, name: str = "m.gguf") -> Path:
    keys, tensors = moe_model(A, layers=2, experts=8, used=2)
    keys.pop(USED)
    return write_random_weights(folder / name, keys, tensors)


def chosen(path: Path, **values: int) -> InspectedFile:
    return inspect_path(path, RepairChoice(chosen=tuple((f"{A}.{k}", v) for k, v in values.items())))


def weights(path: Path) -> bytes:
    return path.read_bytes()[read_header(path).data_offset :]


def state(path: Path) -> tuple[str, int, str]:
    return hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns, path.name


@pytest.mark.parametrize("cloner", [FakeCloner(), NoCloner()], ids=["shared", "copied"])
def test_a_copy_has_the_change_the_notes_and_the_same_weights(tmp_path: Path, cloner: FakeCloner) -> None:
    path = model_without_used(tmp_path)
    before = state(path)
    plan = plan_copy(chosen(path, expert_used_count=2), cloner=cloner)
    assert plan.is_ready
    write_copy(plan, cloner=cloner)
    copy = inspect_path(plan.model)
    assert plan.model == tmp_path / "m.repaired.gguf"
    assert copy.findings == ()
    assert copy.facts.expert_used_count == 2
    assert copy.headers[0].keys["moxie.repaired_from"] == "m.gguf"
    assert "nothing -> u32 2" in str(copy.headers[0].keys["moxie.repairs"])
    assert weights(plan.model) == weights(path)
    assert plan.size_bytes == plan.model.stat().st_size
    assert state(path) == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.gguf", "m.repaired.gguf"]


def test_shared_blocks_stay_on_their_grid_and_are_not_counted(tmp_path: Path) -> None:
    path, cloner = model_without_used(tmp_path), FakeCloner()
    plan = plan_copy(chosen(path, expert_used_count=2), cloner=cloner)
    cloner.ranges.clear()
    write_copy(plan, cloner=cloner)
    assert plan.parts[0].way is PartWay.CLONE
    assert sum(size for _, _, size in cloner.ranges) == plan.size_bytes - plan.new_bytes
    assert plan.new_bytes < len(plan.parts[0].head or b"") + 2 * BLOCK


def test_what_is_not_known_is_asked_for_and_nothing_is_ready(tmp_path: Path) -> None:
    inspected = inspect_path(model_without_used(tmp_path))
    plan = plan_copy(inspected)
    assert [right.key for right in plan.undecided] == [USED]
    assert plan.undecided[0].value is None
    assert not plan.is_ready
    assert [repair.kind for repair in repairs_for(inspected)] == [RepairKind.PATCHED_COPY]


def test_a_known_model_is_proposed_with_its_name(tmp_path: Path) -> None:
    keys, tensors = moe_model(A, layers=2, experts=128, used=8)
    keys.pop(USED)
    (right,) = plan_copy(inspect_path(write_gguf(tmp_path / "m.gguf", keys, tensors))).undecided
    assert (right.value, right.model, right.is_decided) == (8, "Qwen3-30B-A3B", False)


def test_a_count_under_a_wrong_prefix_is_proposed(tmp_path: Path) -> None:
    keys, tensors = moe_model(A, layers=2, experts=8, used=2)
    keys["llama.expert_used_count"] = keys.pop(USED)
    (right,) = plan_copy(inspect_path(write_gguf(tmp_path / "m.gguf", keys, tensors))).undecided
    assert right.value == 2


def test_an_overwritten_type_is_four_bytes_in_place(tmp_path: Path) -> None:
    keys, tensors = moe_model(A, layers=2, experts=8, used=2)
    path = write_random_weights(tmp_path / "m.gguf", keys, tensors)
    count = f"{A}.expert_count".encode()
    content = path.read_bytes()
    path.write_bytes(content.replace(count + struct.pack("<I", 4), count + struct.pack("<I", 16)))
    plan = plan_copy(inspect_path(path))
    (change,) = [c for c in plan.byte_changes if c.key == f"{A}.expert_count"]
    assert (change.before, change.after) == (struct.pack("<I", 16), struct.pack("<I", 4))
    assert path.read_bytes()[change.offset : change.offset + 4] == change.before
    write_copy(plan)
    assert inspect_path(plan.model).findings == ()


def test_the_second_of_a_key_that_comes_twice_goes(tmp_path: Path) -> None:
    keys, tensors = moe_model(A, layers=2, experts=8, used=2)
    keys[f"{A}.expert_countX"] = u32(4)
    path = write_random_weights(tmp_path / "m.gguf", keys, tensors)
    twice = path.read_bytes().replace(
        b"\x16" + bytes(7) + f"{A}.expert_countX".encode(), b"\x15" + bytes(7) + f"{A}.expert_count".encode()
    )
    header_end = read_header(path).data_offset
    path.write_bytes(twice[: header_end - 1].rstrip(b"\0").ljust(header_end, b"\0") + weights(path))
    inspected = inspect_path(path)
    if FindingCode.METADATA_DUPLICATE not in {f.code for f in inspected.findings}:
        pytest.fail(f"the fixture is no duplicate: {inspected.findings}")
    plan = plan_copy(inspected)
    write_copy(plan)
    copy = read_header(plan.model)
    assert (copy.duplicate_keys, copy.keys[f"{A}.expert_count"]) == ((), 8)
    assert copy.keys["moxie.repairs"] == f"{A}.expert_count: left out (u32)"


def test_a_full_disk_is_a_finding_and_nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_copy(chosen(model_without_used(tmp_path), expert_used_count=2), cloner=NoCloner())
    full = shutil.disk_usage(tmp_path)._replace(free=10)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: full)
    with pytest.raises(FindingError) as caught:
        write_copy(plan, cloner=NoCloner())
    assert caught.value.finding.code is FindingCode.DISK_FULL
    assert [file.name for file in tmp_path.iterdir()] == ["m.gguf"]


def test_a_disk_that_fills_up_meanwhile_is_a_finding_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_copy(chosen(model_without_used(tmp_path), expert_used_count=2), cloner=NoCloner())

    def fail(target: object, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(copy_writer, "_write_fully", fail)
    with pytest.raises(FindingError) as caught:
        write_copy(plan, cloner=NoCloner())
    assert caught.value.finding.code is FindingCode.DISK_FULL
    assert [file.name for file in tmp_path.iterdir()] == ["m.gguf"]


def test_a_cancel_leaves_nothing(tmp_path: Path) -> None:
    path = model_without_used(tmp_path)
    plan = plan_copy(chosen(path, expert_used_count=2), cloner=NoCloner())

    def cancel(done: int, total: int) -> None:
        assert 0 < done <= total
        raise CopyCancelledError

    before = state(path)
    with pytest.raises(CopyCancelledError):
        write_copy(plan, cancel, NoCloner())
    assert [file.name for file in tmp_path.iterdir()] == ["m.gguf"]
    assert state(path) == before


def test_no_file_is_replaced_and_the_next_copy_has_another_name(tmp_path: Path) -> None:
    inspected = chosen(model_without_used(tmp_path), expert_used_count=2)
    plan = plan_copy(inspected)
    write_copy(plan)
    with pytest.raises(FindingError) as caught:
        write_copy(plan)
    assert caught.value.finding.code is FindingCode.REPAIR_TARGET_EXISTS
    with pytest.raises(FindingError):
        write_copy(plan_copy(inspected, inspected.facts.path))
    assert plan_copy(inspected).target.name == "m.repaired-2.gguf"


def test_an_original_that_changed_is_not_copied(tmp_path: Path) -> None:
    path = model_without_used(tmp_path)
    plan = plan_copy(chosen(path, expert_used_count=2))
    with path.open("ab") as file:
        file.write(b"x")
    with pytest.raises(FindingError) as caught:
        write_copy(plan)
    assert caught.value.finding.values["codes"] == ("file-changed",)


def test_an_original_that_shrinks_meanwhile_is_told_as_that(tmp_path: Path) -> None:
    path = model_without_used(tmp_path)
    plan = plan_copy(chosen(path, expert_used_count=2), cloner=NoCloner())

    def shrink(_done: int, _total: int) -> None:
        os.truncate(path, 100)

    with pytest.raises(FindingError) as caught:
        write_copy(plan, shrink, NoCloner())
    assert caught.value.finding.values["codes"] == ("file-changed",)
    assert [file.name for file in tmp_path.iterdir()] == ["m.gguf"]


def test_a_remembered_alignment_that_cannot_be_is_no_crash(tmp_path: Path) -> None:
    choice = RepairChoice(chosen=((USED, 2), ("general.alignment", 7)))
    with pytest.raises(FindingError) as caught:
        plan_copy(inspect_path(model_without_used(tmp_path), choice))
    assert caught.value.finding.code is FindingCode.REPAIR_IMPOSSIBLE


@pytest.mark.parametrize("letter", ["e", "魔"])
def test_the_name_of_a_copy_is_never_too_long(tmp_path: Path, letter: str) -> None:
    name = letter * (249 // len(letter.encode())) + ".gguf"
    plan = plan_copy(chosen(model_without_used(tmp_path, name), expert_used_count=2))
    write_copy(plan)
    assert plan.target.name.startswith(letter)
    assert plan.target.name.endswith(".repaired.gguf")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a copy has a name from its first byte on")
def test_a_copy_has_no_name_until_it_is_complete(tmp_path: Path) -> None:
    plan = plan_copy(chosen(model_without_used(tmp_path), expert_used_count=2), cloner=NoCloner())
    seen: set[str] = set()

    def look(_done: int, _total: int) -> None:
        seen.update(file.name for file in tmp_path.iterdir())

    write_copy(plan, look, NoCloner())
    assert seen == {"m.gguf"}
    assert stat.S_IMODE(plan.target.stat().st_mode) == stat.S_IMODE(plan.source.stat().st_mode)


def test_a_copy_of_a_copy_explains_itself_once(tmp_path: Path) -> None:
    first = plan_copy(chosen(model_without_used(tmp_path), expert_used_count=2), cloner=FakeCloner())
    write_copy(first, cloner=FakeCloner())
    second = plan_copy(chosen(first.model, expert_used_count=4), cloner=FakeCloner())
    write_copy(second, cloner=FakeCloner())
    header = read_header(second.model)
    assert (header.duplicate_keys, header.keys[USED]) == ((), 4)
    assert header.keys["moxie.repaired_from"] == "m.repaired.gguf"


def test_what_lies_in_the_tensors_is_not_mended(tmp_path: Path) -> None:
    path = model_without_used(tmp_path)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 100)
    plan = plan_copy(chosen(path, expert_used_count=2))
    assert [finding.code for finding in plan.left] == [FindingCode.FILE_INCOMPLETE]


def test_misnamed_parts_come_into_a_folder_under_their_right_names(tmp_path: Path) -> None:
    keys, tensors = moe_model(A, layers=2, experts=8, used=2)
    parts = write_shards(tmp_path / "made", "m", keys, tensors, [5, 10])
    folder = tmp_path / "模型"
    folder.mkdir()
    renamed = [file.rename(folder / f"part{number}.gguf") for number, file in enumerate(parts, 1)]
    before = [state(file) for file in renamed]
    inspected = inspect_path(renamed[1])
    assert FindingCode.SHARD_NAME_INVALID in {finding.code for finding in inspected.findings}
    plan = plan_copy(inspected, cloner=NoCloner())
    assert {part.way for part in plan.parts} == {PartWay.LINK}
    assert plan.new_bytes == 0
    write_copy(plan, cloner=NoCloner())
    copy = inspect_path(plan.model)
    assert copy.findings == ()
    assert [file.name for file in copy.facts.files] == [part.name for part in plan.parts]
    assert [state(file) for file in renamed] == before


def test_only_the_first_part_is_written_anew(tmp_path: Path) -> None:
    keys, tensors = moe_model(A, layers=2, experts=8, used=2)
    keys.pop(USED)
    parts = write_shards(tmp_path, "m", keys, tensors, [5, 10])
    plan = plan_copy(chosen(parts[0], expert_used_count=2), cloner=NoCloner())
    assert [part.way for part in plan.parts] == [PartWay.COPY, PartWay.LINK, PartWay.LINK]
    write_copy(plan, cloner=NoCloner())
    assert inspect_path(plan.model).findings == ()
    assert (plan.target / parts[1].name).samefile(parts[1])


def test_a_missing_part_is_not_mended(tmp_path: Path) -> None:
    keys, tensors = moe_model(A, layers=2, experts=8, used=2)
    parts = write_shards(tmp_path, "m", keys, tensors, [5, 10])
    parts[1].unlink()
    with pytest.raises(FindingError) as caught:
        plan_copy(inspect_path(parts[0]))
    assert caught.value.finding.code is FindingCode.REPAIR_IMPOSSIBLE


def test_the_structure_windows_takes_is_handle_offsets_and_size() -> None:
    packed = duplicate_extents(0x1234, 4096, 8192, 65536)
    assert packed == b"".join(number.to_bytes(8, "little") for number in (0x1234, 4096, 8192, 65536))


@pytest.mark.skipif(os.name == "nt", reason="a system call of Linux")
def test_the_trial_of_this_disk_leaves_nothing(tmp_path: Path) -> None:
    path = model_without_used(tmp_path)
    block = block_for_cloning(path, tmp_path, LinuxCloner())
    assert block is None or block > 0
    assert [file.name for file in tmp_path.iterdir()] == ["m.gguf"]


_EXTRA = st.dictionaries(
    st.text("abcdef._", min_size=1, max_size=12).map(lambda name: f"x.{name}"),
    st.one_of(st.integers(0, 2**32 - 1).map(u32), st.integers(0, 9).map(u16), st.text(max_size=20).map(text)),
    max_size=5,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    extra=_EXTRA,
    changes=st.dictionaries(
        st.sampled_from(["expert_used_count", "context_length", "rope.dimension_count", "new_key"]),
        st.integers(1, 8),
        min_size=1,
    ),
    layers=st.integers(1, 3),
    shares=st.booleans(),
)
def test_any_copy_reads_back_with_exactly_its_changes(
    tmp_path: Path, extra: Keys, changes: dict[str, int], layers: int, shares: bool
) -> None:
    keys, tensors = moe_model(A, layers=layers, experts=8, used=2)
    path = write_random_weights(tmp_path / "in.gguf", {**keys, **extra}, tensors)
    cloner = FakeCloner() if shares else NoCloner()
    choice = RepairChoice(chosen=tuple((f"{A}.{key}", value) for key, value in changes.items()))
    target = tmp_path / "out.gguf"
    target.unlink(missing_ok=True)
    plan: CopyPlan = plan_copy(inspect_path(path, choice), target, cloner)
    write_copy(plan, cloner=cloner)
    before, after = read_header(path), read_header(target)
    expected = {**before.keys, **{f"{A}.{key}": value for key, value in changes.items()}}
    assert {key: value for key, value in after.keys.items() if key not in NOTES} == expected
    assert after.tensors == before.tensors
    assert weights(target) == weights(path)
