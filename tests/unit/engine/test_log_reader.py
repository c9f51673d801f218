"""What real engines wrote before they gave up, and what we make of it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.log_reader import explain_exit, explain_load_failure, read_buffers, read_bus_ids
from app.engine.protocol import BufferUse
from app.findings import FindingCode

LOGS = Path(__file__).resolve().parents[2] / "data" / "logs"
MIB = 1024**2
CUDA_FULL = (
    "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9216.50 MiB on device 1: "
    "cudaMalloc failed: out of memory"
)


def lines_of(name: str) -> list[str]:
    return (LOGS / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def test_the_buffers_of_a_worker_are_read() -> None:
    assert read_buffers(lines_of("worker-loaded")) == (
        BufferUse("CPU_Mapped", "model", round(424.86 * MIB)),
        BufferUse("CPU", "output", round(0.19 * MIB)),
        BufferUse("CPU", "kv_cache", round(11.25 * MIB)),
        BufferUse("CPU", "compute", round(98.25 * MIB)),
    )


def test_an_rpc_device_loses_its_address() -> None:
    uses = read_buffers(lines_of("server-loaded-rpc-cpu-moe"))
    assert [(use.device, use.part) for use in uses] == [
        ("CPU_Mapped", "model"),
        ("RPC0", "model"),
        ("CPU", "output"),
        ("RPC0", "kv_cache"),
        ("RPC0", "compute"),
        ("CPU", "compute"),
    ]
    assert uses[1].size_bytes == round(0.09 * MIB)


def test_the_place_of_a_card_is_read_whatever_the_card_is_called() -> None:
    lines = [
        "llama_model_load_from_file_impl: using device CUDA0 (NVIDIA H200) (0000:18:00.0) - 142 MiB free",
        "llama_prepare_model_devices: using device Vulkan1 (Intel(R) Arc(TM) A770 (DG2)) (0000:03:00.0) - 1",
        "llama_prepare_model_devices: using device RPC0 (127.0.0.1:50052) (unknown id) - 24105 MiB free",
        "llama_model_load_from_file_impl: using device ROCm0 (AMD Radeon RX 7900 XTX) - 24105 MiB free",
    ]
    assert read_bus_ids(lines) == {"CUDA0": "0000:18:00.0", "Vulkan1": "0000:03:00.0"}
    assert read_bus_ids(lines_of("server-loaded-rpc-cpu-moe")) == {}


def test_devices_of_several_rpc_servers_are_told_apart_by_their_addresses() -> None:
    lines = [
        "llama_prepare_model_devices: using device RPC0 (192.168.1.7:50052) (unknown id) - 24105 MiB free",
        "llama_prepare_model_devices: using device RPC1 (192.168.1.8:50052) (unknown id) - 24105 MiB free",
        "llama_prepare_model_devices: using device RPC2 (192.168.1.8:50052) (unknown id) - 24105 MiB free",
        "load_tensors: RPC0[192.168.1.8:50052] model buffer size =   166.00 MiB",
        "load_tensors: RPC1[192.168.1.8:50052] model buffer size =    68.00 MiB",
        "load_tensors: RPC0[192.168.1.7:50052] model buffer size =     8.00 MiB",
        "load_tensors: RPC3[192.168.1.8:50052] model buffer size =     1.00 MiB",
        "load_tensors: RPC0[192.168.1.9:50052] model buffer size =     2.00 MiB",
    ]
    uses = [(use.device, use.size_bytes // MIB) for use in read_buffers(lines)]
    assert uses == [("RPC1", 166), ("RPC2", 68), ("RPC0", 8), ("RPC3", 1), ("RPC0", 2)]
    second_of_two = [
        "using device RPC1 (192.168.1.8:50052)",
        "RPC0[192.168.1.8:50052] KV buffer size = 15.00 MiB",
    ]
    assert [use.device for use in read_buffers(second_of_two)] == ["RPC1"]


def test_two_caches_on_one_device_are_two_entries() -> None:
    uses = read_buffers(
        [
            "llama_kv_cache_iswa:      CUDA0 KV buffer size =    96.00 MiB",
            "llama_kv_cache_iswa:      CUDA0 KV buffer size =     6.00 MiB",
            "llama_memory_recurrent:      CUDA0 RS buffer size =     2.50 MiB",
            "llama_dsv4_comp_state:        CPU DSV4 hca state buffer size =     1.00 MiB",
            "llama_kv_cache: size = 102.00 MiB (8192 cells, 30 layers)",
        ]
    )
    assert [(use.part, use.size_bytes // MIB) for use in uses] == [
        ("kv_cache", 96),
        ("kv_cache", 6),
        ("state", 2),
        ("state", 1),
    ]


@pytest.mark.parametrize(
    ("log", "code"),
    [
        ("worker-truncated", FindingCode.TENSOR_BEYOND_FILE),
        ("server-truncated", FindingCode.TENSOR_BEYOND_FILE),
        ("worker-unknown-architecture", FindingCode.ARCHITECTURE_UNKNOWN),
        ("server-unknown-architecture", FindingCode.ARCHITECTURE_UNKNOWN),
        ("worker-duplicate-key", FindingCode.METADATA_DUPLICATE),
        ("worker-header-cut", FindingCode.HEADER_BROKEN),
    ],
)
def test_a_refused_model_is_explained_by_the_fault_of_the_file(log: str, code: FindingCode) -> None:
    assert explain_load_failure(lines_of(log)).code is code
    assert explain_exit(1, lines_of(log), "load").code is code


def test_what_is_no_fault_of_the_file_is_told_in_the_engines_words() -> None:
    finding = explain_load_failure(lines_of("worker-quantized-v-without-flash-attention"))
    assert finding.code is FindingCode.ENGINE_REJECTS_MODEL
    assert "quantized V cache requires flash_attn" in str(finding.values["reason"])


@pytest.mark.parametrize("log", ["worker-context-too-big", "server-context-too-big"])
def test_a_context_beyond_ram_is_out_of_ram(log: str) -> None:
    assert explain_load_failure(lines_of(log)).code is FindingCode.ENGINE_OUT_OF_RAM


@pytest.mark.parametrize("log", ["worker-expert-count-missing", "server-expert-count-missing"])
def test_a_failed_assert_shows_its_line_without_the_build_folder(log: str) -> None:
    finding = explain_exit(-6, lines_of(log), "load")
    assert finding.code is FindingCode.EXPERT_COUNTS_ABORT
    line = str(finding.values["line"])
    assert line.startswith("llama-model.cpp:1")
    assert "GGML_ASSERT(" in line


def test_a_server_that_ends_on_a_bad_file_rejects_the_model() -> None:
    finding = explain_exit(1, [*lines_of("server-truncated")[:7], "E llama: cannot do that"], "load")
    assert finding.code is FindingCode.ENGINE_REJECTS_MODEL


def test_a_missing_library_is_named() -> None:
    finding = explain_exit(127, lines_of("server-library-missing"), "start")
    assert finding.code is FindingCode.ENGINE_MISSING_LIBRARY
    assert finding.values["library"] == "libllama.so.0"


def test_a_full_gpu_is_named_with_the_bytes_it_lacked() -> None:
    allocation = "alloc_tensor_range: failed to allocate CUDA1 buffer of size 9664200704"
    for lines, code in (([CUDA_FULL], 1), ([CUDA_FULL, allocation], -6), ([allocation], 1)):
        finding = explain_exit(code, lines, "load")
        assert finding.code is FindingCode.ENGINE_OUT_OF_VRAM
        assert finding.values == {"needed_bytes": 9664200704, "device": "CUDA1"}


def test_a_bare_out_of_memory_line_has_no_bytes() -> None:
    finding = explain_exit(1, ["cudaMalloc failed: out of memory"], "load")
    assert finding.code is FindingCode.ENGINE_OUT_OF_VRAM
    assert finding.values == {"needed_bytes": None, "device": None}


def test_pinned_memory_that_is_refused_stops_nothing() -> None:
    lines = ["ggml_cuda_host_malloc: failed to allocate 512.00 MiB of pinned memory: out of memory"]
    assert explain_exit(-11, lines, "load").code is FindingCode.ENGINE_DIED


@pytest.mark.parametrize(
    ("return_code", "code"),
    [
        (-4, FindingCode.CPU_INSTRUCTIONS_MISSING),
        (132, FindingCode.CPU_INSTRUCTIONS_MISSING),
        (3221225501, FindingCode.CPU_INSTRUCTIONS_MISSING),
        (-1073741795, FindingCode.CPU_INSTRUCTIONS_MISSING),
        (3221225781, FindingCode.ENGINE_MISSING_LIBRARY),
        (-1073741515, FindingCode.ENGINE_MISSING_LIBRARY),
        (0xC0000017, FindingCode.ENGINE_OUT_OF_RAM),
        (-9, FindingCode.ENGINE_KILLED),
        (137, FindingCode.ENGINE_KILLED),
        (-15, FindingCode.ENGINE_KILLED),
        (-11, FindingCode.ENGINE_DIED),
        (0, FindingCode.ENGINE_KILLED),
    ],
)
def test_an_exit_code_without_a_log_has_a_cause(return_code: int, code: FindingCode) -> None:
    assert explain_exit(return_code, [], "generate").code is code


@pytest.mark.parametrize(
    ("return_code", "name"),
    [
        (-11, "SIGSEGV"),
        (-7, "SIGBUS"),
        (139, "SIGSEGV"),
        (0xC0000005, "ACCESS_VIOLATION"),
        (-1073740791, "STACK_BUFFER_OVERRUN"),
        (7, None),
    ],
)
def test_a_crash_carries_its_name(return_code: int, name: str | None) -> None:
    finding = explain_exit(return_code, ["decoding", ""], "generate")
    assert finding.code is FindingCode.ENGINE_DIED
    assert finding.values["signal"] == name
    assert finding.values["last_line"] == "decoding"


RPC_CRASHED = (
    "/src/ggml/src/ggml-rpc/ggml-rpc.cpp:354: Remote RPC server crashed or returned malformed response"
)
RPC_OTHER_VERSION = [
    "RPC server version mismatch: 4.0.0",
    "C:\\src\\ggml-rpc.cpp:550: RPC handshake failed for 10.0.0.9:50052",
]


@pytest.mark.parametrize("during", ["load", "generate"])
@pytest.mark.parametrize(
    ("lines", "server", "detail"),
    [
        ([RPC_CRASHED, ""], "a:1, b:2", RPC_CRASHED.rpartition("/")[2]),
        (RPC_OTHER_VERSION, "10.0.0.9:50052", RPC_OTHER_VERSION[0]),
        (
            ["/x/ggml-rpc.cpp:547: Failed to connect to 10.0.0.9:50052"],
            "10.0.0.9:50052",
            "ggml-rpc.cpp:547: Failed to connect to 10.0.0.9:50052",
        ),
    ],
)
def test_an_engine_that_lost_an_rpc_server_names_it(
    lines: list[str], server: str, detail: str, during: str
) -> None:
    finding = explain_exit(-6, lines, during, ("a:1", "b:2"))
    assert finding.code is FindingCode.RPC_UNREACHABLE
    assert finding.values == {"server": server, "detail": detail}


def test_a_failed_check_inside_the_rpc_code_is_still_a_failed_check() -> None:
    line = "/src/ggml-rpc.cpp:620: GGML_ASSERT(status == GGML_STATUS_SUCCESS) failed"
    assert explain_exit(-6, [line], "generate", ("a:1",)).code is FindingCode.ENGINE_ASSERT


@pytest.mark.parametrize(
    ("during", "code"),
    [
        ("generate", FindingCode.ENGINE_KILLED),
        ("idle", FindingCode.ENGINE_KILLED),
        ("load", FindingCode.ENGINE_DIED),
    ],
)
def test_an_end_in_good_order_that_nobody_here_asked_for_came_from_outside(
    during: str, code: FindingCode
) -> None:
    assert explain_exit(0, ["cleaning up before exit..."], during).code is code


def test_a_quoted_line_cannot_steer_a_terminal() -> None:
    lines = ["\x1b[31mthe file is\x07 invalid\x1b[0m"]
    assert explain_exit(1, lines, "load").values["reason"] == "the file is invalid"
    assert explain_load_failure(lines).values["reason"] == "the file is invalid"
    assert explain_exit(-11, lines, "generate").values["last_line"] == "the file is invalid"


def test_a_kill_after_memory_ran_short_is_out_of_ram() -> None:
    lines = ["ggml_aligned_malloc: insufficient memory (attempted to allocate 2048.00 MB)"]
    finding = explain_exit(-9, lines, "load")
    assert finding.code is FindingCode.ENGINE_OUT_OF_RAM
    assert finding.values["needed_bytes"] == 2048 * MIB


FRAGMENTS = st.sampled_from(
    [
        "CPU",
        " model buffer size = ",
        "1e9",
        "999999999999.999999",
        " MiB",
        "RPC0[",
        "]",
        "GGML_ASSERT(",
        ".cpp:1: ",
        "failed to allocate ",
        "buffer of size ",
        "9" * 30,
        "error: ",
        "failed to load model",
        "0.00.004 E ",
        "\x00",
        "名",
    ]
)
LINES = st.lists(st.one_of(st.text(), st.lists(FRAGMENTS, max_size=8).map("".join)), max_size=20)


@given(LINES, st.integers(-(2**40), 2**40), st.sampled_from(["start", "load", "generate"]))
def test_no_log_and_no_exit_code_can_break_the_reader(
    lines: list[str], return_code: int, during: str
) -> None:
    for use in read_buffers(lines):
        assert use.size_bytes >= 0
    assert explain_exit(return_code, lines, during).to_json()
    assert explain_load_failure(lines).to_json()
