"""Every verdict on a machine, from a recording of one: the right code with the right numbers."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from app.cli.main import main
from app.engine.engine_on_machine import build_on_machine
from app.findings import Finding, FindingCode
from app.findings import FindingCode as Code
from app.hardware.engine_facts import EngineBuildFacts, EngineDevice
from app.hardware.gpu_choice import gpu_key, judge_choice
from app.hardware.pseudonyms import PersonalNames
from app.hardware.recording import Recording, read_recording, save_recording
from app.hardware.verdicts_memory import Speeds, judge_use
from app.planner.facts import OffloadPlan, Wishes
from app.planner.plan import plan_offload
from app.planner.report import budget_from, judge_place, memory_needs
from app.texts import LANGUAGES, Texts
from tests.planner_models import WEIGHT_PARTS, dense_facts, moe_facts

MACHINES = Path(__file__).resolve().parents[2] / "data" / "machines"
MIB, GIB = 1024**2, 1024**3

CUDA_12 = EngineBuildFacts("an engine", "cuda", (12, 4))
CUDA_13 = EngineBuildFacts("an engine", "cuda", (13, 0))
VULKAN = EngineBuildFacts("an engine", "vulkan")
RTX_4060 = "NVIDIA GeForce RTX 4060"


@dataclass(frozen=True)
class Case:
    """One verdict.

    Attributes:
        engine: Put into the recording; None keeps what it has.
        excluded: Indices of GPUs that a person excludes there.
    """

    code: Code
    machine: str
    values: dict[str, Any]
    engine: EngineBuildFacts | None = None
    excluded: tuple[int, ...] = ()


CASES = [
    Case(Code.NVIDIA_DRIVER_MISSING, "no-gpu-16gb", {}),
    Case(Code.GPU_NOT_FOUND, "no-gpu-linux-32gb", {}),
    Case(
        Code.NVIDIA_DRIVER_FAILED,
        "rtx-4080-version-mismatch-64gb",
        {"reason": "version-mismatch", "detail": "RM has detected an NVML/RM version mismatch."},
    ),
    Case(
        Code.NVIDIA_CARD_WITHOUT_DRIVER,
        "rtx-4070-without-driver-32gb",
        {"gpu": "Microsoft Basic Display Adapter"},
    ),
    Case(Code.GPU_LOST, "rtx-3060-lost-and-3090-64gb", {"gpu": "NVIDIA GeForce RTX 3060"}),
    Case(Code.GPU_ASLEEP, "optimus-asleep-16gb", {"gpu": "NVIDIA GeForce RTX 3050 Ti Laptop GPU"}),
    Case(
        Code.GPU_HIDDEN,
        "two-gpus-one-hidden-64gb",
        {"variable": "CUDA_VISIBLE_DEVICES", "value": "0", "hidden": ["NVIDIA GeForce RTX 5070"]},
    ),
    Case(
        Code.GPU_UNSEEN_BY_ENGINE,
        "rtx-3060-32gb",
        {"gpu": "NVIDIA GeForce RTX 3060", "engine": "an engine", "seen_devices": None},
        replace(CUDA_12, devices=()),
    ),
    Case(
        Code.GPU_MEMORY_DIFFERS,
        "strix-halo-windows-64gb",
        {
            "gpu": "AMD Radeon(TM) 8050S Graphics",
            "engine": "an engine",
            "engine_bytes": 24395 * MIB,
            "total_bytes": 36_337_352_704,
            "difference_bytes": 36_337_352_704 - 24395 * MIB,
        },
        replace(VULKAN, devices=(EngineDevice("Vulkan0", "AMD Radeon(TM) 8050S Graphics", 24395 * MIB),)),
    ),
    Case(Code.GPU_INSTANCES, "h200-mig", {"gpu": "NVIDIA H200 MIG 1g.18gb", "count": 3}),
    Case(
        Code.DRIVER_TOO_OLD,
        "rtx-2060-driver-522-16gb",
        {"engine": "an engine", "driver": "522.25", "needed": "527.41", "cuda": "12.4"},
        CUDA_12,
    ),
    Case(
        Code.GPU_TOO_OLD_FOR_ENGINE,
        "gtx-1060-16gb",
        {"capability": "6.1", "engine": "an engine", "lowest": "7.5"},
        CUDA_13,
    ),
    Case(
        Code.GPU_TOO_NEW_FOR_ENGINE,
        "rtx-5090-96gb",
        {
            "capability": "12.0",
            "engine": "an engine",
            "cuda": "12.4",
            "highest": "9.0",
            "needed_cuda": "12.8",
        },
        CUDA_12,
    ),
    Case(
        Code.GFX_TARGET_MISSING,
        "radeon-780m-hip-32gb",
        {
            "gpu": "AMD Radeon 780M Graphics",
            "gfx_target": "gfx1103",
            "engine": "llama-b7002-bin-win-hip-x64",
            "targets": ["gfx1030", "gfx1100", "gfx1101", "gfx1102", "gfx1200", "gfx1201"],
        },
    ),
    Case(
        Code.CUDA_LIBRARY_MISSING,
        "rtx-3050-without-cudart-16gb",
        {
            "engine": "llama-b7002-bin-win-cuda-13.0-x64",
            "libraries": ["cudart64_13.dll", "cublas64_13.dll"],
        },
    ),
    Case(
        Code.VC_RUNTIME_MISSING,
        "rtx-4060-laptop-32gb",
        {"engine": "an engine", "libraries": ["VCRUNTIME140_1.dll", "VCOMP140.DLL"]},
        replace(CUDA_12, missing_libraries=("VCRUNTIME140_1.dll", "VCOMP140.DLL")),
    ),
    Case(
        Code.VULKAN_LOADER_MISSING,
        "arc-b580-32gb",
        {"engine": "an engine"},
        replace(VULKAN, missing_libraries=("vulkan-1.dll",)),
    ),
    Case(
        Code.ENGINE_BUILD_DEBUG,
        "rtx-4090-64gb",
        {"engine": "an engine", "libraries": ["VCRUNTIME140D.dll", "ucrtbased.dll"]},
        replace(CUDA_12, imports=("KERNEL32.dll", "VCRUNTIME140D.dll", "ucrtbased.dll")),
    ),
    Case(
        Code.ENGINE_FILES_GONE,
        "rtx-4060-small-page-file-16gb",
        {"engine": "an engine", "files": ["llama-server.exe", "ggml-cuda.dll"]},
        replace(CUDA_12, missing_files=("llama-server.exe", "ggml-cuda.dll")),
    ),
    Case(
        Code.ENGINE_FLAVOUR_UNFIT,
        "rx-7900-xtx-64gb",
        {"engine": "an engine", "gpus": ["AMD GPU 1002:744c", "AMD GPU 1002:164e"], "flavour": "vulkan"},
        EngineBuildFacts("an engine", "cpu", devices=()),
    ),
    Case(
        Code.DISPLAY_GPU_FULL,
        "rtx-3060-desktop-full-32gb",
        {
            "gpu": "NVIDIA GeForce RTX 3060",
            "used_bytes": 10978 * MIB,
            "free_bytes": 1310 * MIB,
            "total_bytes": 12288 * MIB,
        },
    ),
    Case(
        Code.VRAM_SPILLED,
        "rtx-4060-ti-spilled-32gb",
        {
            "gpu": "NVIDIA GeForce RTX 4060 Ti",
            "shared_bytes": 1536 * MIB,
            "used_bytes": 8021 * MIB,
            "total_bytes": 8188 * MIB,
        },
    ),
    Case(Code.MODEL_ON_HARD_DISK, "no-gpu-five-drives-64gb", {"mount": "D:\\"}),
    Case(Code.MODEL_ON_REMOVABLE, "no-gpu-five-drives-64gb", {"mount": "E:\\"}),
    Case(Code.MODEL_ON_CLOUD, "no-gpu-five-drives-64gb", {"mount": "G:\\"}),
    Case(Code.MODEL_ON_NETWORK, "no-gpu-five-drives-64gb", {"mount": "Z:\\"}),
    Case(
        Code.MODEL_DRIVE_SLOW,
        "no-gpu-five-drives-64gb",
        {
            "mount": "D:\\",
            "bytes_per_second": round(139 * MIB / 0.9667),
            "piece_bytes": MIB,
            "seconds_per_gib": 7.1,
        },
    ),
    Case(Code.IN_VIRTUAL_MACHINE, "vm-without-gpu-16gb", {"name": "qemu"}),
    Case(Code.IN_WINE, "wine-without-gpu-24gb", {"version": "10.0"}),
    Case(Code.IN_WSL, "rtx-3080-wsl-32gb", {}),
    Case(Code.ON_BATTERY, "rtx-4070-laptop-battery-16gb", {}),
    Case(
        Code.CPU_INSTRUCTIONS_FALSE,
        "vm-false-avx512-8gb",
        {"cpu": "QEMU Virtual CPU version 2.5+", "instructions": ["avx512f"]},
    ),
    Case(Code.PROBE_TIMED_OUT, "optimus-asleep-16gb", {"probe": "driver", "seconds": 5.0}),
    Case(
        Code.PROBE_FAILED,
        "vm-false-avx512-8gb",
        {"probe": "runtime", "detail": "PermissionError: [Errno 13] Permission denied: '/usr/lib64'"},
    ),
    Case(
        Code.DISK_ALMOST_FULL,
        "no-gpu-16gb",
        {"mount": "C:\\", "free_bytes": 6_442_450_944, "total_bytes": 510_770_802_688},
    ),
    Case(
        Code.GPU_CHOICE_AMBIGUOUS,
        "rtx-3090-and-3060-64gb",
        {"gpu": "NVIDIA GeForce RTX 3090", "total_bytes": 24576 * MIB},
        replace(VULKAN, devices=()),
        excluded=(1,),
    ),
]

JUDGED_BELOW = {
    Code.VRAM_FULL_SLOW,
    Code.COMMIT_LIMIT_SMALL,
    Code.PAGE_FILE_NO_HELP,
    Code.GPU_CHOICE_NOT_HONOURED,
}
NOT_OF_A_MACHINE = {Code.RECORDING_INVALID, Code.DISK_NOT_MEASURED}
"""About a file, and about one measurement that failed."""


def recorded(name: str) -> Recording:
    return read_recording(MACHINES / f"{name}.json")


def replayed(case: Case, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[Any]:
    """Return the findings that the command line gives for the recording of a case."""
    recording = recorded(case.machine)
    if case.code is Code.GPU_CHOICE_AMBIGUOUS:  # two of the same kind
        twin = replace(recording.facts.gpus[0], index=1, uuid="GPU-anon-0000000000000001", pci_bus_id=None)
        recording = replace(recording, facts=replace(recording.facts, gpus=(recording.facts.gpus[0], twin)))
    if case.engine is not None:
        recording = replace(recording, engine=case.engine, excluded_gpus=case.excluded)
    save_recording(recording, folder / "m.json", names=PersonalNames())
    capsys.readouterr()
    assert main(["doctor", "--json", "--replay", str(folder / "m.json")]) == 0
    findings: list[Any] = json.loads(capsys.readouterr().out)["findings"]
    return findings


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code.value)
def test_a_recording_gives_the_verdict_with_its_numbers(
    case: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [finding for finding in replayed(case, tmp_path, capsys) if finding["code"] == case.code.value]
    assert any(finding["values"].items() >= case.values.items() for finding in found), found
    for language in LANGUAGES:
        texts = Texts(language)
        for finding in map(Finding.from_json, found):
            said = texts.finding(finding)
            assert "{" not in said.message + said.action
            assert said.message != said.action


def test_every_verdict_on_a_machine_is_replayed() -> None:
    codes = list(FindingCode)
    of_machines = codes[codes.index(Code.NVIDIA_DRIVER_MISSING) : codes.index(Code.RECORDING_INVALID) + 1]
    assert len(of_machines) >= 28
    assert {case.code for case in CASES} | JUDGED_BELOW == set(of_machines) - NOT_OF_A_MACHINE


def test_a_full_card_and_lost_speed_are_told_where_windows_does_not_count_shared_memory() -> None:
    recording = recorded("rtx-4060-ti-spilled-32gb")
    (gpu,) = recording.facts.gpus
    first, last = (sample.gpus[0] for sample in (recording.samples[0], recording.samples[-1]))
    uncounted = replace(last, process_shared_bytes=None)
    (finding,) = judge_use(gpu, first, uncounted, Speeds(before=24.0, now=2.5))
    assert finding.code is Code.VRAM_FULL_SLOW
    assert finding.values == {
        "gpu": gpu.name,
        "used_bytes": 8021 * MIB,
        "total_bytes": 8188 * MIB,
        "before": 24.0,
        "now": 2.5,
    }


def test_a_small_page_file_is_told_with_what_is_missing_and_mapped_weights_need_none() -> None:
    facts = recorded("rtx-4060-small-page-file-16gb").facts
    host = facts.host
    assert host is not None
    available, limit = host.ram_available_bytes or 0, host.commit_limit_bytes or 0
    left = limit - (host.commit_used_bytes or 0)

    def judged(plan: OffloadPlan) -> dict[FindingCode, Any]:
        return {found.code: dict(found.values) for found in judge_place(facts, plan, Path("C:/m.gguf"))}

    large = plan_offload(moe_facts(blocks=64, expert_bytes=700 * MIB), budget_from(facts), Wishes())
    mapped = sum(large.devices[-1].parts[part] for part in WEIGHT_PARTS if part in large.devices[-1].parts)
    assert large.disk_bytes > 20 * GIB
    excess = mapped + large.disk_bytes + memory_needs(large).private_bytes - available
    assert judged(large) == {Code.PAGE_FILE_NO_HELP: {"excess_bytes": excess}}

    dense = plan_offload(dense_facts(blocks=80, block_bytes=300 * MIB), budget_from(facts), Wishes())
    repacked = replace(dense, options=replace(dense.options, repack=True))  # copies are promised memory
    needed = memory_needs(repacked).private_bytes
    assert needed > left
    assert judged(repacked) == {
        Code.COMMIT_LIMIT_SMALL: {
            "needed_bytes": needed,
            "left_bytes": left,
            "limit_bytes": limit,
            "missing_bytes": needed - left,
        }
    }


def test_an_engine_on_an_excluded_card_is_told() -> None:
    facts = recorded("gtx-1660-and-rtx-3090-32gb").facts
    old, good = facts.gpus
    choice = build_on_machine(CUDA_12, facts, [gpu_key(old)]).choice
    assert choice.environment == {"CUDA_VISIBLE_DEVICES": good.uuid}  # case H17: by its own name
    devices = (EngineDevice("CUDA0", old.name),)
    (finding,) = judge_choice(choice, devices, ["CUDA0", "CPU"])
    assert finding.code is Code.GPU_CHOICE_NOT_HONOURED
    assert finding.values == {"used": (old.name,), "excluded": (old.name,), "allowed": (good.name,)}


def test_plans_of_a_replay_are_made_for_cards_the_recorded_engine_can_use() -> None:
    facts = recorded("rx-7900-xtx-64gb").facts
    assert build_on_machine(CUDA_12, facts).budget.vram_free_bytes == ()
    assert len(build_on_machine(VULKAN, facts).budget.vram_free_bytes) == 1
    plan = plan_offload(moe_facts(), build_on_machine(VULKAN, facts).budget, Wishes())
    assert plan.devices[0].planned_bytes > 10 * GIB
