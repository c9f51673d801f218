"""Weights that are no numbers or nothing but zeros, in every type that has scales."""

import struct
import time
from pathlib import Path

import numpy as np
import pytest

from app.findings import Finding, FindingCode, Severity
from app.gguf.inspect_file import inspect_path
from app.gguf.quant_scales import SCALE_FIELDS, SPREAD_SCALE
from app.gguf.quants import QUANT_TYPES
from app.gguf.reader import read_header
from app.gguf.weights_scan import scan_weights
from tests.builders import Tensor, model_keys, write_gguf

LAYOUTS = {quant.name: quant for quant in QUANT_TYPES.values()}
NAN = {
    "f16": b"\x00\x7e",
    "bf16": b"\xc0\x7f",
    "f32": b"\x00\x00\xc0\x7f",
    "f64": b"\x00\x00\x00\x00\x00\x00\xf8\x7f",
    "e8m0": b"\xff",
    "ue4m3": b"\x7f",
}
INFINITY = {"f16": b"\x00\x7c", "bf16": b"\x80\x7f", "f32": struct.pack("<f", float("inf"))}


def one_tensor(tmp_path: Path, type_name: str, name: str = "blk.0.ffn_up.weight", rows: int = 64) -> Path:
    """Return a file with one tensor of random codes and scales of one."""
    layout = LAYOUTS[type_name]
    shape = (layout.block_elements * 8, rows)
    file = write_gguf(tmp_path / "m.gguf", model_keys(layers=1), [Tensor(name, shape, type_name)])
    random = np.random.default_rng(5).integers(0, 256, (rows * 8, layout.block_bytes), np.uint8)
    one = {"f16": b"\x00\x3c", "bf16": b"\x80\x3f", "f32": struct.pack("<f", 1), "f64": struct.pack("<d", 1)}
    one |= {"e8m0": b"\x7f", "ue4m3": b"\x38"}
    if type_name == SPREAD_SCALE:
        random[:, 48:56] = 0x11
    for field in SCALE_FIELDS.get(type_name, ()):
        value = np.frombuffer(one[field.kind] * field.count, np.uint8)
        random[:, field.offset : field.offset + len(value)] = value
    put(file, 0, random.tobytes())
    return file


def put(file: Path, offset: int, content: bytes) -> None:
    """Write into the data section."""
    start = read_header(file).data_offset
    with file.open("r+b") as stream:
        stream.seek(start + offset)
        stream.write(content)


def scan(file: Path, *, is_full: bool = False) -> tuple[Finding, ...]:
    return scan_weights(inspect_path(file).facts, is_full=is_full)


@pytest.mark.parametrize("type_name", [*SCALE_FIELDS, SPREAD_SCALE])
def test_a_bad_scale_is_found_in_every_type(tmp_path: Path, type_name: str) -> None:
    layout = LAYOUTS[type_name]
    file = one_tensor(tmp_path, type_name)
    assert scan(file, is_full=True) == ()
    if type_name == SPREAD_SCALE:
        offset = 48
        content = struct.pack("<4H", 0x0000, 0x0000, 0xE000, 0x7000)  # 0x7E00 spread over four words
    else:
        last = SCALE_FIELDS[type_name][-1]
        content = NAN[last.kind]
        offset = last.offset + len(content) * (last.count - 1)
    put(file, 300 * layout.block_bytes + offset, content)
    (finding,) = scan(file, is_full=True)
    assert (finding.code, finding.severity) == (FindingCode.WEIGHTS_NOT_FINITE, Severity.ERROR)
    assert (finding.values["type"], finding.values["count"]) == (type_name, 1)
    assert finding.values["position"] == 300 * layout.block_elements


@pytest.mark.parametrize("type_name", ["F32", "F16", "BF16", "Q8_0"])
def test_an_infinite_value_is_found(tmp_path: Path, type_name: str) -> None:
    file = one_tensor(tmp_path, type_name)
    put(file, 0, INFINITY[SCALE_FIELDS[type_name][0].kind])
    assert scan(file)[0].values["position"] == 0


def test_all_types_but_whole_numbers_are_read() -> None:
    assert {*SCALE_FIELDS, SPREAD_SCALE} == {
        name for name in LAYOUTS if not name.startswith("I") or "Q" in name
    }


@pytest.mark.parametrize("type_name", ["F16", "Q8_0", "Q4_K", "MXFP4"])
def test_a_matrix_of_zeros_is_a_warning(tmp_path: Path, type_name: str) -> None:
    layout = LAYOUTS[type_name]
    shape = (layout.block_elements * 8, 64)
    file = write_gguf(tmp_path / "m.gguf", model_keys(), [Tensor("blk.0.ffn_up.weight", shape, type_name)])
    (finding,) = scan(file)
    assert (finding.code, finding.severity) == (FindingCode.WEIGHTS_ALL_ZERO, Severity.WARNING)
    assert finding.values["tensors"] == 1


def test_zero_biases_are_sound(tmp_path: Path) -> None:
    file = write_gguf(tmp_path / "m.gguf", model_keys(), [Tensor("blk.0.attn_q.bias", (64,), "F32")])
    assert scan(file, is_full=True) == ()


@pytest.mark.parametrize(
    ("name", "is_found"), [("blk.0.ffn_gate_inp.weight", True), ("output.weight", False)]
)
def test_a_sample_reads_routers_in_full_and_others_in_part(tmp_path: Path, name: str, is_found: bool) -> None:
    file = one_tensor(tmp_path, "F32", name, rows=4096)
    put(file, 4 * 9000, NAN["f32"])
    assert bool(scan(file)) is is_found
    assert len(scan(file, is_full=True)) == 1


def test_a_scan_tells_its_progress_and_can_be_stopped(tmp_path: Path) -> None:
    facts = inspect_path(one_tensor(tmp_path, "Q8_0", rows=40_000)).facts
    shares: list[float] = []
    assert scan_weights(facts, is_full=True, on_progress=shares.append) == ()
    assert shares == sorted(shares)
    assert (len(shares) > 2, shares[-1]) == (True, 1.0)
    stopped: list[float] = []
    scan_weights(facts, is_full=True, on_progress=stopped.append, is_cancelled=lambda: len(stopped) > 0)
    assert len(stopped) == 1


def test_a_file_that_goes_away_is_told(tmp_path: Path) -> None:
    file = one_tensor(tmp_path, "F16")
    facts = inspect_path(file).facts
    file.unlink()
    assert [finding.code for finding in scan_weights(facts)] == [FindingCode.WEIGHTS_UNREAD]


def test_a_sound_real_model_is_sampled_in_time(moe_model: Path) -> None:
    facts = inspect_path(moe_model).facts
    scan_weights(facts)
    started = time.monotonic()
    assert scan_weights(facts) == ()
    assert time.monotonic() - started < 1.5
