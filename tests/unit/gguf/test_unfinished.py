"""Places for what is not complete: gone at the end, after an error, and after a kill at the next start."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from app.gguf.copy_writer import write_copy
from app.gguf.inspect_file import inspect_path
from app.gguf.patched_copy import plan_copy
from app.gguf.repair_facts import RepairChoice
from app.gguf.unfinished import remove_left_behind, unfinished_place
from app.paths import source_root
from tests.builders import moe_model, write_shards

USED = "qwen3moe.expert_used_count"

COPIES_AND_WAITS = """
import sys, threading
from pathlib import Path
from app.gguf.copy_writer import write_copy
from app.gguf.inspect_file import inspect_path
from app.gguf.patched_copy import plan_copy
from app.gguf.repair_facts import RepairChoice

def wait(done, total):
    print("writing", flush=True)
    threading.Event().wait()

choice = RepairChoice(chosen=((sys.argv[2], 2),))
write_copy(plan_copy(inspect_path(Path(sys.argv[1]), choice), Path(sys.argv[3])), wait)
"""


def left_in(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.name.startswith(".moxie-"))


@pytest.fixture
def parts(tmp_path: Path) -> Sequence[Path]:
    keys, tensors = moe_model("qwen3moe", layers=2, experts=8, used=2)
    keys.pop(USED)
    return write_shards(tmp_path / "模型", "m", keys, tensors, [5, 10])


def test_what_a_killed_copy_left_goes_at_the_next_start(parts: Sequence[Path]) -> None:
    folder = parts[0].parent
    arguments = [sys.executable, "-c", COPIES_AND_WAITS, str(parts[0]), USED, str(folder / "killed")]
    with subprocess.Popen(arguments, cwd=source_root(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline().strip() == b"writing"
            plan = plan_copy(inspect_path(parts[0], RepairChoice(chosen=((USED, 2),))), folder / "first")
            write_copy(plan)
            while_it_ran = left_in(folder)
        finally:
            process.kill()
    assert [Path(name).suffix for name in while_it_ran] == [".lock", ".part"]
    assert left_in(folder) == while_it_ran
    write_copy(plan_copy(inspect_path(parts[0], RepairChoice(chosen=((USED, 2),))), folder / "second"))
    assert left_in(folder) == []
    assert not (folder / "killed").exists()
    assert inspect_path(folder / "first" / parts[0].name).findings == ()


def test_a_place_is_removed_with_all_that_is_in_it(tmp_path: Path) -> None:
    with unfinished_place(tmp_path) as place:
        place.mkdir()
        (place / "m.gguf").write_bytes(b"half")
    assert left_in(tmp_path) == []


def test_a_place_is_removed_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), unfinished_place(tmp_path) as place:
        place.write_bytes(b"half")
        raise KeyError
    assert left_in(tmp_path) == []


def test_what_was_renamed_stays(tmp_path: Path) -> None:
    with unfinished_place(tmp_path) as place:
        place.write_bytes(b"whole")
        place.rename(tmp_path / "m.gguf")
    assert [file.name for file in tmp_path.iterdir()] == ["m.gguf"]


def test_files_of_others_and_of_the_living_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".moxie-theirs.part").mkdir()
    (tmp_path / "other.lock").write_bytes(b"")
    (tmp_path / "other.part").write_bytes(b"")
    with unfinished_place(tmp_path) as place:
        place.write_bytes(b"half")
        remove_left_behind(tmp_path)
        assert place.exists()
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        ".moxie-theirs.part",
        "other.lock",
        "other.part",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a right that not everybody has")
def test_a_link_is_never_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "m.gguf").write_bytes(b"whole")
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / ".moxie-a.lock").write_bytes(b"")
    (folder / ".moxie-a.part").symlink_to(precious)
    (folder / ".moxie-b.lock").symlink_to(precious / "m.gguf")
    (folder / ".moxie-b.part").write_bytes(b"")
    remove_left_behind(folder)
    assert left_in(folder) == [".moxie-b.lock", ".moxie-b.part"]
    assert (precious / "m.gguf").read_bytes() == b"whole"


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    remove_left_behind(tmp_path / "absent")
