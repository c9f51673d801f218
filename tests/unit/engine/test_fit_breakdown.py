"""The breakdown llama-server logs with `-fit on`: rows, whole tables, foreign text."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.fit_breakdown import BreakdownReader, BreakdownRow, ask_breakdown, first_table, read_row
from app.findings import FindingError
from app.options import EngineOptions
from tests.models.tiny import write_tiny
from tests.rpc_server import pack_rpc_server

MIB = 1024**2
HEAD = "0.00.638.817 I common_memory_breakdown_print: "
TITLE = (
    HEAD + "| memory breakdown [MiB]     | total    free      self    model   context   compute"
    "    unaccounted |"
)
DEVICE = (
    HEAD + "|   - RPC0 (127.0.0.1:50391) | 24105 = 24105 + (428538 = 427250 +     744 +     544) +"
    "     -428538 |"
)
NAMED = (
    HEAD + "|   - CUDA1 (RTX 4090 (x16)) | 24217 = 23605 + ( 12006 =  10730 +     744 +     532) + -11394 |"
)
HOST = (
    HEAD
    + "|   - Host                   |                   88930 =  88710 +       0 +     220                |"
)
REPACKED = HEAD + "|   - CPU_REPACK             |                  328320 = 328320 +       0 +       0      |"
AFTER = "0.00.742.597 I common_params_fit_impl: projected to use 428538 MiB of device memory"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (DEVICE, ("RPC0", 427_250, 744, 544)),
        (NAMED, ("CUDA1", 10_730, 744, 532)),
        (HOST, ("Host", 88_710, 0, 220)),
        (REPACKED, ("CPU_REPACK", 328_320, 0, 0)),
    ],
)
def test_a_row_names_its_device_and_three_sizes(line: str, expected: tuple[str, int, int, int]) -> None:
    name, *sizes = expected
    assert read_row(line) == BreakdownRow(name, *(size * MIB for size in sizes))


@pytest.mark.parametrize("line", [TITLE, AFTER, "", HEAD, "|", "| - X | a = b + c + d |"])
def test_anything_else_is_no_row(line: str) -> None:
    assert read_row(line) is None


def test_the_first_table_is_taken_and_later_ones_are_not() -> None:
    log = ["noise", HOST, TITLE, DEVICE, HOST, AFTER, TITLE, NAMED, REPACKED, AFTER]
    assert [row.device for row in first_table(log)] == ["RPC0", "Host"]


def test_a_table_is_whole_when_another_line_or_the_next_table_follows() -> None:
    for after in (AFTER, TITLE):
        reader = BreakdownReader()
        for line in (TITLE, DEVICE, HOST):
            reader.take(line)
            assert not reader.is_whole
        reader.take(after)
        assert reader.is_whole
        assert len(reader.rows) == 2


PIECES = st.sampled_from(
    [TITLE, DEVICE, NAMED, HOST, REPACKED, AFTER, HEAD, "|", "(", "=", "+", "-", " ", "9"]
)


@given(st.lists(st.one_of(st.text(max_size=200), PIECES, st.lists(PIECES, max_size=9).map("".join))))
def test_no_log_makes_it_raise(lines: list[str]) -> None:
    for row in first_table(lines):
        assert min(row.bytes_by_part.values()) >= 0


@given(st.text(alphabet="|-=+( 0123456789aR", max_size=3000))
def test_no_line_takes_long(line: str) -> None:
    read_row(HEAD + "|   - " + line)


@pytest.mark.engine
def test_a_real_server_tells_what_each_device_would_take(engine_pack: Path, tmp_path: Path) -> None:
    model = write_tiny("qwen3moe", tmp_path / "模型 a.gguf")
    with pack_rpc_server(engine_pack) as server:
        options = EngineOptions(n_ctx=65_536, rpc_servers=(server,), repack=False)
        rows = {row.device: row for row in ask_breakdown(engine_pack, model, options)}
    assert set(rows) == {"RPC0", "Host"}
    # two layers of 2 heads of 16 for keys and values, f16
    assert rows["RPC0"].context_bytes >= 8 * MIB
    assert rows["Host"].context_bytes == 0


@pytest.mark.engine
def test_a_model_the_server_refuses_is_a_finding(engine_pack: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(20))
    with pytest.raises(FindingError):
        ask_breakdown(engine_pack, broken, EngineOptions(n_gpu_layers=0))
