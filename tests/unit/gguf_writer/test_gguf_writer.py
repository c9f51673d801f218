"""The writer against our own reader and the reference one."""

import errno
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFReader
from hypothesis import given
from hypothesis import strategies as st

from app.findings import FindingCode, FindingError
from app.gguf.reader import read_header
from app.gguf.writer import KeyValue, TensorData, ValueType, array, scalar, text, write_gguf

INTEGER_BOUNDS = {
    ValueType.UINT8: (0, 2**8 - 1),
    ValueType.INT8: (-(2**7), 2**7 - 1),
    ValueType.UINT16: (0, 2**16 - 1),
    ValueType.INT16: (-(2**15), 2**15 - 1),
    ValueType.UINT32: (0, 2**32 - 1),
    ValueType.INT32: (-(2**31), 2**31 - 1),
    ValueType.UINT64: (0, 2**64 - 1),
    ValueType.INT64: (-(2**63), 2**63 - 1),
}


def floats(name: str, *values: float) -> TensorData:
    content = np.asarray(values, "<f4").tobytes()
    return TensorData(name, (len(values),), 0, len(content), lambda: [content[:4], content[4:]])


def every_kind_of_entry() -> list[KeyValue]:
    return [
        text("general.architecture", "llama"),
        text("general.name", "魔匣 with blanks"),
        *(
            scalar(f"test.{kind.name.lower()}.{end}", kind, number)
            for kind, bounds in INTEGER_BOUNDS.items()
            for end, number in zip(("low", "high"), bounds, strict=True)
        ),
        scalar("test.float32", ValueType.FLOAT32, 0.25),
        scalar("test.float64", ValueType.FLOAT64, 0.1),
        scalar("test.bool", ValueType.BOOL, True),
        array("test.texts", ValueType.STRING, ["", "é", "<|im_end|>"]),
        array("test.numbers", ValueType.INT32, [-1, 0, 1]),
        array("test.none", ValueType.UINT8, []),
    ]


def test_what_is_written_is_what_our_reader_reads(tmp_path: Path) -> None:
    file = tmp_path / "model with blanks 模型.gguf"
    write_gguf(file, every_kind_of_entry(), [floats("a.weight", 1.0), floats("b.weight", 2.0, 3.0)])
    header = read_header(file)
    assert header.keys["general.name"] == "魔匣 with blanks"
    assert header.keys["test.uint64.high"] == 2**64 - 1
    assert header.keys["test.int64.low"] == -(2**63)
    assert header.keys["test.float64"] == 0.1
    assert header.keys["test.bool"] is True
    assert header.keys["test.texts"] == ("", "é", "<|im_end|>")
    assert header.keys["test.none"] == ()
    assert [(t.name, t.shape, t.offset_bytes) for t in header.tensors] == [
        ("a.weight", (1,), 0),
        ("b.weight", (2,), 32),
    ]
    assert header.file_size == header.data_offset + 64


def test_what_is_written_is_what_the_reference_reader_reads(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    write_gguf(file, every_kind_of_entry(), [floats("a.weight", 1.0), floats("b.weight", 2.0, 3.0)])
    reader = GGUFReader(file)
    for kind, bounds in INTEGER_BOUNDS.items():
        name = kind.name.lower()
        found = [reader.fields[f"test.{name}.{end}"].contents() for end in ("low", "high")]
        assert found == list(bounds), name
    assert reader.fields["test.float32"].contents() == 0.25
    assert reader.fields["test.numbers"].contents() == [-1, 0, 1]
    assert reader.fields["test.texts"].contents() == ["", "é", "<|im_end|>"]
    assert [tensor.data.tolist() for tensor in reader.tensors] == [[1.0], [2.0, 3.0]]


@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=5))
def test_any_texts_survive(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    file = tmp_path_factory.mktemp("texts") / "model.gguf"
    write_gguf(file, [array("test.words", ValueType.STRING, words)], [])
    assert read_header(file).keys["test.words"] == tuple(words)


def test_a_tensor_of_another_size_than_announced_leaves_no_file(tmp_path: Path) -> None:
    short = TensorData("a.weight", (2,), 0, 8, lambda: [b"1234"])
    with pytest.raises(ValueError, match=r"a\.weight yields 4 bytes, announced 8"):
        write_gguf(tmp_path / "model.gguf", [], [short])
    assert list(tmp_path.iterdir()) == []


def test_cancelling_keeps_the_older_file(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"older")

    def cancel(_written: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_gguf(file, [], [floats("a.weight", 1.0)], cancel)
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]
    assert file.read_bytes() == b"older"


def test_progress_counts_up_to_all_tensor_bytes(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    write_gguf(
        tmp_path / "model.gguf",
        [],
        [floats("a.weight", 1.0, 2.0), floats("b.weight", 3.0)],
        lambda written, total: seen.append((written, total)),
    )
    assert seen == [(4, 12), (8, 12), (12, 12), (12, 12)]


def test_a_disk_that_fills_up_is_a_finding_and_leaves_no_file(tmp_path: Path) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"1234"
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(FindingError) as caught:
        write_gguf(tmp_path / "model.gguf", [], [TensorData("a.weight", (2,), 0, 8, chunks)])
    finding = caught.value.finding
    assert finding.code is FindingCode.DISK_FULL
    assert finding.values["needed_bytes"] == 8
    assert isinstance(finding.values["free_bytes"], int)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on file sizes per process")
def test_the_system_refusing_more_bytes_leaves_the_older_file(tmp_path: Path) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"older")
    script = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from app.findings import FindingError\n"
        "from app.gguf.writer import TensorData, write_gguf\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: write_gguf(Path(sys.argv[1]), [], [TensorData('a', (1_000_000,), 24, 1_000_000, "
        "lambda: [bytes(50_000)] * 20)])\n"
        "except FindingError as reason: print(reason.finding.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, file], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == FindingCode.STORE_READ_ONLY
    assert [path.name for path in tmp_path.iterdir()] == ["model.gguf"]
    assert file.read_bytes() == b"older"
