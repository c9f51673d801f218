"""Verdicts from facts alone: engines against machines, memory, drives; cases H13, H16 and H17."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.findings import Finding, FindingCode
from app.hardware.cuda import (
    CudaVersions,
    best_flavour,
    cuda_versions,
    needed_driver,
    parse_version,
    toolkit_for,
)
from app.hardware.engine_facts import EngineBuildFacts, EngineDevice
from app.hardware.facts import (
    CpuInfo,
    DiskInfo,
    DriverInfo,
    GpuInfo,
    GpuSample,
    HardwareFacts,
    HostInfo,
    RuntimeFacts,
)
from app.hardware.verdicts import hidden_by, judge_machine, visible_gpus
from app.hardware.verdicts_engine import judge_engine
from app.hardware.verdicts_memory import MemoryNeeds, Speeds, judge_drive, judge_needs, judge_use
from app.planner.report import budget_from
from app.processes.environment import engine_environment

GIB = 1024**3
MIB = 1024**2
HOST = HostInfo("Windows", "11", CpuInfo(), 32 * GIB, 24 * GIB, 36 * GIB, 10 * GIB)
CARD = GpuInfo(
    0,
    "NVIDIA GeForce RTX 4060",
    "nvidia",
    "GPU-aaaa",
    "00000000:01:00.0",
    8192 * MIB,
    7292 * MIB,
    (8, 9),
    is_integrated=False,
)
RADEON = GpuInfo(
    1,
    "AMD Radeon(TM) 8060S Graphics",
    "amd",
    vram_total_bytes=4 * GIB,
    is_integrated=True,
    shared_total_bytes=60 * GIB,
    gfx_target="gfx1151",
)
CUDA = EngineBuildFacts("an engine", "cuda", (12, 4))


def machine(
    *gpus: GpuInfo, driver: str | None = "551.61", runtime: RuntimeFacts | None = None
) -> HardwareFacts:
    told = None if driver is None else DriverInfo(driver, (12, 4))
    return HardwareFacts(HOST, told, gpus, runtime=runtime)


def codes(findings: tuple[Finding, ...]) -> list[FindingCode]:
    return [finding.code for finding in findings]


@pytest.mark.parametrize(
    ("driver", "cuda", "os_name", "needed"),
    [
        ("527.41", (12, 4), "Windows", None),  # any 12.x runs on the first driver of 12
        ("527.40", (12, 4), "Windows", "527.41"),
        ("525.00", (12, 0), "Windows", "527.41"),
        ("525.60.13", (12, 9), "Linux", None),
        ("525.60.12", (12, 9), "Linux", "525.60.13"),
        ("579.99", (13, 0), "Windows", "580"),
        ("580.01", (13, 1), "Windows", None),
        ("580.65.06", (13, 2), "Linux", None),
        ("452.39", (11, 8), "Windows", None),
        ("9999", (14, 0), "Linux", None),
        ("unknown", (12, 4), "Windows", None),
        (None, (12, 4), "Windows", None),
    ],
)
def test_a_driver_is_compared_in_full_with_the_first_of_the_builds_major_version(
    driver: str | None, cuda: tuple[int, int], os_name: str, needed: str | None
) -> None:
    assert needed_driver(driver, cuda, os_name) == needed


def test_code_that_the_driver_must_translate_needs_the_driver_of_its_own_toolkit() -> None:
    translated = replace(CUDA, compute_capabilities=((8, 6),), ptx_capabilities=((7, 5),))
    newer = replace(CARD, compute_capability=(9, 0))
    (finding,) = judge_engine(machine(newer, driver="551.60"), translated)
    assert (finding.code, finding.values["needed"]) == (FindingCode.DRIVER_TOO_OLD, "551.61")
    assert judge_engine(machine(newer, driver="551.61"), translated) == ()
    assert judge_engine(machine(CARD, driver="551.60"), translated) == ()  # 8.9 runs machine code of 8.6


def test_a_build_without_code_to_translate_cannot_use_a_newer_card() -> None:
    exact = replace(CUDA, compute_capabilities=((8, 6), (8, 9)))
    blackwell = replace(CARD, compute_capability=(12, 0))
    assert codes(judge_engine(machine(blackwell), exact)) == [FindingCode.GPU_TOO_NEW_FOR_ENGINE]
    assert toolkit_for((12, 0)) == (12, 8)
    assert judge_engine(machine(blackwell), replace(CUDA, cuda_version=(12, 8))) == ()


@given(st.text(max_size=40))
def test_any_text_is_a_version_or_none(text: str) -> None:
    version = parse_version(text)
    assert version is None or all(part >= 0 for part in version)


@pytest.mark.parametrize(
    ("driver", "capability", "flavour"),
    [
        ("591.44", (8, 9), "cuda-13"),
        ("591.44", (6, 1), "cuda-12.4"),  # case H16: 13 dropped this card
        ("591.44", (12, 0), "cuda-13"),
        ("551.61", (7, 5), "cuda-12.4"),
        ("572.61", (12, 0), "vulkan"),  # 12.4 has no machine code for it
        ("522.25", (7, 5), "vulkan"),
        (None, (8, 9), "vulkan"),
    ],
)
def test_the_engine_that_suits_follows_driver_and_card(
    driver: str | None, capability: tuple[int, int], flavour: str
) -> None:
    assert best_flavour(machine(replace(CARD, compute_capability=capability), driver=driver)) == flavour


def test_without_a_card_the_processors_engine_suits_and_for_other_makers_vulkan() -> None:
    assert best_flavour(machine(driver=None)) == "cpu"
    assert best_flavour(machine(RADEON, driver=None)) == "vulkan"
    assert best_flavour(machine(replace(CARD, is_lost=True))) == "cpu"


def test_the_four_versions_of_cuda_stay_apart() -> None:
    runtime = RuntimeFacts(cuda_runtimes=("12",), cuda_toolkits=("11.8", "13.0"))
    facts = machine(CARD, runtime=runtime)
    assert cuda_versions(facts, replace(CUDA, cuda_version=(13, 1))) == CudaVersions(
        (12, 4), (13, 1), ("12",), ("11.8", "13.0")
    )
    assert cuda_versions(HardwareFacts(None), None) == CudaVersions(None, None, (), ())


LIBRARIES = [
    (("cublas64_13.dll", "cublasLt64_13.dll", "cudart64_13.dll"), FindingCode.CUDA_LIBRARY_MISSING),
    (("libcudart.so.12", "libcublas.so.12"), FindingCode.CUDA_LIBRARY_MISSING),
    (("VCRUNTIME140_1.dll", "VCOMP140.DLL"), FindingCode.VC_RUNTIME_MISSING),
    (("vulkan-1.dll",), FindingCode.VULKAN_LOADER_MISSING),
]


@pytest.mark.parametrize(("missing", "code"), LIBRARIES)
def test_a_library_that_is_not_there_is_named_by_its_kind(
    missing: tuple[str, ...], code: FindingCode
) -> None:
    (finding,) = judge_engine(machine(CARD), replace(CUDA, missing_libraries=missing))
    assert finding.code is code
    assert finding.values.get("libraries", missing) == missing


def test_what_windows_lacks_counts_when_nobody_looked_beside_the_engine() -> None:
    build = replace(CUDA, imports=("KERNEL32.dll", "VCRUNTIME140.dll"))
    lacking = RuntimeFacts(missing_vc_libraries=("vcruntime140.dll", "msvcp140.dll"))
    (finding,) = judge_engine(machine(CARD, runtime=lacking), build)
    assert finding.values == {"engine": "an engine", "libraries": ("VCRUNTIME140.dll",)}
    brought = replace(build, missing_libraries=())
    assert judge_engine(machine(CARD, runtime=lacking), brought) == ()


def test_a_vulkan_engine_without_the_systems_library_sees_nothing() -> None:
    build = EngineBuildFacts("v", "vulkan")
    without = RuntimeFacts(has_vulkan_loader=False)
    assert codes(judge_engine(machine(CARD, runtime=without), build)) == [FindingCode.VULKAN_LOADER_MISSING]
    assert judge_engine(machine(CARD, runtime=RuntimeFacts(has_vulkan_loader=True)), build) == ()


@pytest.mark.parametrize(
    "library", ["VCRUNTIME140D.dll", "VCRUNTIME140_1D.dll", "MSVCP140D.dll", "ucrtbased.dll"]
)
def test_an_engine_that_needs_developers_libraries_is_a_debug_build(library: str) -> None:
    build = replace(CUDA, imports=("KERNEL32.dll", library), missing_libraries=(library,))
    (finding,) = judge_engine(machine(CARD), build)
    assert (finding.code, finding.values["libraries"]) == (FindingCode.ENGINE_BUILD_DEBUG, (library,))


def test_files_that_vanished_from_an_engine_are_named() -> None:
    (finding,) = judge_engine(machine(CARD), replace(CUDA, missing_files=("llama-server.exe",)))
    assert (finding.code, finding.values["files"]) == (FindingCode.ENGINE_FILES_GONE, ("llama-server.exe",))


def test_an_amd_card_outside_a_hip_build_is_told_with_what_the_build_holds() -> None:
    build = EngineBuildFacts("hip", "hip", gfx_targets=("gfx1030", "gfx1100"))
    (finding,) = judge_engine(machine(RADEON, driver=None), build)
    assert (finding.code, finding.values["gfx_target"]) == (FindingCode.GFX_TARGET_MISSING, "gfx1151")
    fitting = replace(build, gfx_targets=("gfx1151",))
    assert judge_engine(machine(RADEON, driver=None), fitting) == ()


def test_a_card_the_driver_knows_and_the_engine_does_not_list_is_told() -> None:
    blind = replace(CUDA, devices=())
    (finding,) = judge_engine(machine(CARD), blind)
    assert (finding.code, finding.values["gpu"]) == (FindingCode.GPU_UNSEEN_BY_ENGINE, CARD.name)
    # not a second time where the reason is known
    assert codes(judge_engine(machine(CARD, driver="522.25"), blind)) == [FindingCode.DRIVER_TOO_OLD]
    seeing = replace(CUDA, devices=(EngineDevice("CUDA0", "NVIDIA GeForce RTX 4060", 8187 * MIB),))
    assert judge_engine(machine(CARD), seeing) == ()
    assert judge_engine(machine(CARD), replace(blind, flavour="cpu")) == ()


def test_a_chip_under_another_name_is_the_same_chip_and_counts_with_what_it_shares() -> None:
    vulkan = EngineBuildFacts("v", "vulkan", devices=(EngineDevice("Vulkan0", "RADV GFX1151", 64 * GIB),))
    assert judge_engine(machine(RADEON, driver=None), vulkan) == ()
    less = replace(vulkan, devices=(EngineDevice("Vulkan0", "RADV GFX1151", 32 * GIB),))
    (finding,) = judge_engine(machine(RADEON, driver=None), less)
    assert finding.code is FindingCode.GPU_MEMORY_DIFFERS
    assert finding.values["difference_bytes"] == 32 * GIB
    close = replace(vulkan, devices=(EngineDevice("Vulkan0", "RADV GFX1151", 58 * GIB),))
    assert judge_engine(machine(RADEON, driver=None), close) == ()  # below a tenth


# H17: what the person picked, or the environment says, is what runs

FIRST = replace(CARD, name="NVIDIA GeForce GTX 1660 SUPER", vram_free_bytes=5 * GIB)
SECOND = replace(CARD, index=1, name="NVIDIA GeForce RTX 3090", uuid="GPU-bbbb", vram_free_bytes=23 * GIB)


@pytest.mark.parametrize(
    ("value", "hidden"),
    [
        ("0", [SECOND]),
        ("1", [FIRST]),
        ("1,0", []),
        ("GPU-bbbb", [FIRST]),
        ("gpu-bb", [FIRST]),
        ("", [FIRST, SECOND]),
        ("-1", [FIRST, SECOND]),
        ("0,7,1", [SECOND]),  # CUDA reads no further than the first that is none
    ],
)
def test_a_list_of_visible_cards_hides_the_others(value: str, hidden: list[GpuInfo]) -> None:
    assert hidden_by("CUDA_VISIBLE_DEVICES", value, (FIRST, SECOND, RADEON)) == tuple(hidden)


@pytest.mark.parametrize(
    ("variable", "hidden"), [("HIP_VISIBLE_DEVICES", (RADEON,)), ("GGML_VK_VISIBLE_DEVICES", ())]
)
def test_only_variables_that_reach_our_engines_hide_anything(
    variable: str, hidden: tuple[GpuInfo, ...]
) -> None:
    assert (variable in engine_environment({variable: "-1"})) is bool(hidden)
    assert hidden_by(variable, "-1", (FIRST, RADEON)) == hidden


def test_a_hidden_card_is_told_and_not_planned_with() -> None:
    facts = machine(FIRST, SECOND, runtime=RuntimeFacts(gpu_variables=(("CUDA_VISIBLE_DEVICES", "1"),)))
    (finding,) = judge_machine(facts)
    assert (finding.code, finding.values["hidden"]) == (FindingCode.GPU_HIDDEN, (FIRST.name,))
    assert visible_gpus(facts) == (SECOND,)
    assert budget_from(facts).vram_free_bytes == (23 * GIB,)


def test_an_inherited_order_is_the_order_of_the_plan() -> None:
    facts = machine(FIRST, SECOND, runtime=RuntimeFacts(gpu_variables=(("CUDA_VISIBLE_DEVICES", "1,0"),)))
    assert judge_machine(facts) == ()
    assert budget_from(facts).vram_free_bytes == (23 * GIB, 5 * GIB)


def test_a_full_screen_card_is_told_unless_our_own_engine_fills_it() -> None:
    full = replace(CARD, drives_display=True, vram_free_bytes=GIB)
    assert codes(judge_machine(machine(full))) == [FindingCode.DISPLAY_GPU_FULL]
    assert judge_machine(machine(full), engine_bytes=6 * GIB) == ()
    assert judge_machine(machine(replace(full, drives_display=False))) == ()


# H13: an almost full card on Windows spills in silence


def used(dedicated_mib: int, shared_mib: int | None = None) -> GpuSample:
    shared = None if shared_mib is None else shared_mib * MIB
    return GpuSample(0, dedicated_mib * MIB, 8192 * MIB, process_shared_bytes=shared)


@pytest.mark.parametrize(
    ("now", "speeds", "code"),
    [
        (used(8000, 400), None, FindingCode.VRAM_SPILLED),
        (used(8000, 300), None, None),  # 250 MiB more than at load
        (used(8000), Speeds(30.0, 3.0), FindingCode.VRAM_FULL_SLOW),
        (used(8000), Speeds(30.0, 25.0), None),
        (used(8000), None, None),
        (used(7900), Speeds(30.0, 3.0), None),  # 96 percent: something else made it slow
    ],
)
def test_a_spill_is_seen_by_shared_memory_or_by_a_full_card_and_lost_speed(
    now: GpuSample, speeds: Speeds | None, code: FindingCode | None
) -> None:
    assert codes(judge_use(CARD, used(7200, 50), now, speeds)) == ([] if code is None else [code])


def test_shared_memory_is_no_spill_on_a_chip_that_has_no_other() -> None:
    assert judge_use(RADEON, used(0, 0), used(8192, 4000), Speeds(30.0, 3.0)) == ()


# promised memory


def test_a_plan_beyond_what_windows_can_promise_says_how_much_is_missing() -> None:
    (finding,) = judge_needs(HOST, MemoryNeeds(30 * GIB, 0))
    assert finding.code is FindingCode.COMMIT_LIMIT_SMALL
    assert finding.values["left_bytes"] == 26 * GIB
    assert finding.values["missing_bytes"] == 4 * GIB


def test_mapped_weights_beyond_ram_are_no_matter_of_the_page_file() -> None:
    (finding,) = judge_needs(HOST, MemoryNeeds(2 * GIB, 40 * GIB))
    assert finding.code is FindingCode.PAGE_FILE_NO_HELP
    assert finding.values["excess_bytes"] == 18 * GIB
    assert judge_needs(HOST, MemoryNeeds(2 * GIB, 20 * GIB)) == ()
    assert judge_needs(replace(HOST, commit_limit_bytes=None), MemoryNeeds(99 * GIB, 0)) == ()


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ({"is_cloud": True, "is_network": True}, FindingCode.MODEL_ON_CLOUD),
        ({"is_network": True}, FindingCode.MODEL_ON_NETWORK),
        ({"is_removable": True, "is_rotational": True}, FindingCode.MODEL_ON_REMOVABLE),
        ({"is_rotational": True}, FindingCode.MODEL_ON_HARD_DISK),
        ({"is_rotational": False}, None),
        ({}, None),
    ],
)
def test_the_drive_of_a_model_is_judged_by_its_slowest_kind(
    kind: Mapping[str, Any], code: FindingCode | None
) -> None:
    disk = replace(DiskInfo("E:\\", GIB, GIB), **kind)
    assert codes(judge_drive(disk)) == ([] if code is None else [code])
    assert judge_drive(None) == ()
