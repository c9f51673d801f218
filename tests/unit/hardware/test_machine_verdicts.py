"""Every kept machine: what is wrong with it, which engine suits it, and that plans for it are sane."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.findings import FindingCode as Code
from app.findings import Severity
from app.hardware.cuda import EngineFlavour, best_flavour
from app.hardware.engine_facts import EngineBuildFacts
from app.hardware.facts import HardwareFacts
from app.hardware.recording import load_recording
from app.hardware.verdicts import judge_machine
from app.hardware.verdicts_engine import judge_engine
from app.planner.facts import Wishes
from app.planner.plan import plan_offload
from app.planner.report import budget_from
from tests.planner_models import MIB, dense_facts, moe_facts

MACHINES = Path(__file__).resolve().parents[2] / "data" / "machines"
CUDA_12 = EngineBuildFacts("cuda-12.4", "cuda", (12, 4))
CUDA_13 = EngineBuildFacts("cuda-13.0", "cuda", (13, 0))

VULKAN, CPU = EngineFlavour.VULKAN, EngineFlavour.CPU
FOR_12, FOR_13 = EngineFlavour.CUDA_12, EngineFlavour.CUDA_13
NO_GPU = {Code.NVIDIA_DRIVER_MISSING, Code.GPU_NOT_FOUND}


@dataclass(frozen=True)
class Expected:
    """What one machine must give.

    Attributes:
        vram_mib: Free for a model, per GPU that counts; shared_mib is the part that is RAM.
        codes: Of the machine itself; cuda_12 and cuda_13 of those builds on it.
    """

    flavour: EngineFlavour
    vram_mib: tuple[int, ...] = ()
    codes: set[Code] = field(default_factory=set)
    cuda_12: tuple[Code, ...] = ()
    cuda_13: tuple[Code, ...] = ()
    shared_mib: tuple[int, ...] = ()


OLD = (Code.DRIVER_TOO_OLD,)
EXPECTED = {
    "arc-a770-linux-32gb": Expected(VULKAN),
    "arc-b580-32gb": Expected(VULKAN, (11060,)),
    "gtx-1060-16gb": Expected(FOR_12, (5406,), cuda_13=(Code.GPU_TOO_OLD_FOR_ENGINE,)),
    "gtx-1660-and-rtx-3090-32gb": Expected(FOR_12, (5324, 24268), cuda_13=OLD),
    "h200": Expected(FOR_12, (143157,), cuda_13=OLD),
    "h200-mig": Expected(FOR_12, (16324,), {Code.GPU_INSTANCES, Code.IN_VIRTUAL_MACHINE}, cuda_13=OLD),
    "intel-iris-xe-16gb": Expected(VULKAN, (7548,), {Code.ON_BATTERY}, shared_mib=(7420,)),
    "no-gpu-16gb": Expected(CPU, codes=NO_GPU | {Code.DISK_ALMOST_FULL}),
    "no-gpu-five-drives-64gb": Expected(CPU, codes=NO_GPU),
    "no-gpu-linux-32gb": Expected(CPU, codes=NO_GPU),
    "optimus-asleep-16gb": Expected(VULKAN, codes={Code.GPU_ASLEEP, Code.ON_BATTERY, Code.PROBE_TIMED_OUT}),
    "rtx-2060-driver-522-16gb": Expected(VULKAN, (5466,), cuda_12=OLD, cuda_13=OLD),
    "radeon-780m-hip-32gb": Expected(VULKAN, (18688,), shared_mib=(15360,)),
    "rtx-3050-without-cudart-16gb": Expected(FOR_13, (7378,)),
    "rtx-3060-32gb": Expected(FOR_12, (11480,), cuda_13=OLD),
    "rtx-3060-desktop-full-32gb": Expected(FOR_12, (1310,), {Code.DISPLAY_GPU_FULL}, cuda_13=OLD),
    "rtx-3060-lost-and-3090-64gb": Expected(FOR_12, (24230,), {Code.GPU_LOST}, cuda_13=OLD),
    "rtx-3080-wsl-32gb": Expected(FOR_12, (8829,), {Code.IN_WSL}, cuda_13=OLD),
    "rtx-3090-and-3060-64gb": Expected(FOR_13, (23892, 12036)),
    "rtx-3090-and-gtx-1660-32gb": Expected(FOR_12, (23190, 6031), cuda_13=OLD),
    "rtx-4060-driver-not-loaded-32gb": Expected(VULKAN, codes={Code.NVIDIA_DRIVER_FAILED}),
    "rtx-4060-laptop-32gb": Expected(FOR_12, (7957,), cuda_13=OLD),
    "rtx-4060-small-page-file-16gb": Expected(FOR_12, (7045,), cuda_13=OLD),
    "rtx-4060-ti-spilled-32gb": Expected(FOR_12, (7412,), cuda_13=OLD),
    "rtx-4070-driver-536-32gb": Expected(FOR_12, (11263,), cuda_13=OLD),
    "rtx-4070-laptop-battery-16gb": Expected(FOR_12, (7957,), {Code.ON_BATTERY}, cuda_13=OLD),
    "rtx-4070-without-driver-32gb": Expected(VULKAN, codes={Code.NVIDIA_CARD_WITHOUT_DRIVER}),
    "rtx-4080-version-mismatch-64gb": Expected(VULKAN, codes={Code.NVIDIA_DRIVER_FAILED}),
    "rtx-4090-64gb": Expected(FOR_13, (22876,)),
    "rtx-5090-96gb": Expected(FOR_13, (30711,), cuda_12=(Code.GPU_TOO_NEW_FOR_ENGINE,)),
    "rx-7900-xtx-64gb": Expected(VULKAN, (22963,)),
    "rx-7900-xtx-windows-32gb": Expected(VULKAN, (22713,)),
    "strix-halo-128gb": Expected(VULKAN, (66161,), shared_mib=(62811,)),
    "strix-halo-windows-64gb": Expected(VULKAN, (32841,), shared_mib=(29410,)),
    "two-gpus-one-hidden-64gb": Expected(
        FOR_13, (23892,), {Code.GPU_HIDDEN}, cuda_12=(Code.GPU_TOO_NEW_FOR_ENGINE,)
    ),
    "vm-false-avx512-8gb": Expected(CPU, codes=NO_GPU | {Code.IN_VIRTUAL_MACHINE, Code.PROBE_FAILED}),
    "vm-without-gpu-16gb": Expected(CPU, codes=NO_GPU | {Code.IN_VIRTUAL_MACHINE}),
    "wine-without-gpu-24gb": Expected(CPU, codes=NO_GPU | {Code.IN_WINE}),
}

MODELS = {
    "moe": moe_facts(),
    "large moe": moe_facts(blocks=64, expert_bytes=1600 * MIB),
    "dense": dense_facts(),
}


def facts_of(name: str) -> HardwareFacts:
    return load_recording(MACHINES / f"{name}.json")


def test_every_kept_machine_is_judged_here_and_there_are_at_least_25() -> None:
    assert sorted(EXPECTED) == sorted(file.stem for file in MACHINES.glob("*.json"))
    assert len(EXPECTED) >= 25


@pytest.mark.parametrize("name", EXPECTED)
def test_a_replay_gives_the_machines_verdict(name: str) -> None:
    facts, expected = facts_of(name), EXPECTED[name]
    judged = judge_machine(facts)
    assert {finding.code for finding in (*facts.findings, *judged)} == expected.codes
    assert best_flavour(facts) is expected.flavour
    assert tuple(finding.code for finding in judge_engine(facts, CUDA_12)) == expected.cuda_12
    assert tuple(finding.code for finding in judge_engine(facts, CUDA_13)) == expected.cuda_13


@pytest.mark.parametrize("name", EXPECTED)
def test_a_replay_gives_the_memory_there_is_to_plan_with(name: str) -> None:
    facts, expected = facts_of(name), EXPECTED[name]
    budget = budget_from(facts)
    assert tuple(size // MIB for size in budget.vram_free_bytes) == expected.vram_mib
    assert tuple(size // MIB for size in budget.shared_vram_bytes) == expected.shared_mib
    assert facts.host is not None
    assert 0 < budget.ram_free_bytes < (facts.host.ram_available_bytes or 0)
    assert sum(budget.shared_vram_bytes) <= budget.ram_free_bytes


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", EXPECTED)
def test_a_plan_for_a_kept_machine_takes_no_more_than_it_has(name: str, kind: str) -> None:
    budget = budget_from(facts_of(name))
    plan = plan_offload(MODELS[kind], budget, Wishes())
    for device in plan.devices[:-1]:
        assert device.planned_bytes <= device.free_bytes
    if not any(finding.severity is Severity.ERROR for finding in plan.findings):
        own = sum(budget.vram_free_bytes) - sum(budget.shared_vram_bytes)
        assert sum(device.planned_bytes for device in plan.devices) <= own + budget.ram_free_bytes
    assert plan.options.n_threads >= 1


NUMBERS = [
    ("rtx-2060-driver-522-16gb", CUDA_12, {"driver": "522.25", "needed": "527.41", "cuda": "12.4"}),
    ("rtx-4070-driver-536-32gb", CUDA_13, {"driver": "536.67", "needed": "580", "cuda": "13.0"}),
    ("gtx-1060-16gb", CUDA_13, {"capability": "6.1", "lowest": "7.5"}),
    ("rtx-5090-96gb", CUDA_12, {"capability": "12.0", "highest": "9.0", "needed_cuda": "12.8"}),
    ("rtx-3060-desktop-full-32gb", None, {"free_bytes": 1310 * MIB, "total_bytes": 12288 * MIB}),
    ("h200-mig", None, {"count": 3, "total_bytes": 16384 * MIB}),
    ("two-gpus-one-hidden-64gb", None, {"value": "0", "hidden": ("NVIDIA GeForce RTX 5070",)}),
    ("rtx-3060-lost-and-3090-64gb", None, {"gpu": "NVIDIA GeForce RTX 3060"}),
]


@pytest.mark.parametrize(("name", "build", "values"), NUMBERS)
def test_a_verdict_has_its_numbers(
    name: str, build: EngineBuildFacts | None, values: dict[str, object]
) -> None:
    facts = facts_of(name)
    first = (judge_machine(facts) if build is None else judge_engine(facts, build))[0]
    assert first.values.items() >= values.items()
