"""Cases H13 to H17 as they were met in the field, through the real sources, verdicts and plans."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from app.engine.engine_on_machine import build_on_machine
from app.findings import FindingCode, Severity
from app.hardware.all_gpus import AllGpus
from app.hardware.cuda import EngineFlavour, best_flavour
from app.hardware.detect import detect
from app.hardware.engine_facts import EngineBuildFacts
from app.hardware.facts import DriverInfo, GpuInfo, HardwareFacts, RuntimeFacts
from app.hardware.gpu_choice import gpu_key
from app.hardware.nvml import NvmlSource
from app.hardware.ports import SourceError
from app.hardware.verdicts_engine import judge_engine
from app.planner.facts import MemoryBudget, OffloadPlan, Wishes
from app.planner.plan import plan_offload
from app.planner.report import budget_from
from tests.fakes import FAKE_HOST, GIB, FakeGpuSource, FakeHostSource
from tests.planner_models import MIB, moe_facts
from tests.unit.hardware.test_nvml import FakeNvml

CARD = GpuInfo(
    0,
    "NVIDIA GeForce RTX 4060",
    "nvidia",
    "GPU-aaaa",
    vram_total_bytes=8192 * MIB,
    vram_free_bytes=7292 * MIB,
    compute_capability=(8, 9),
    drives_display=False,
    is_integrated=False,
)


# H13: an almost full card


def plan_of(needed_mib: int, free_mib: int, *, drives_display: bool = False) -> OffloadPlan:
    """Return the plan, all experts in RAM by hand, of a model that takes so much of a card's free memory."""
    wishes = Wishes(moe="all", n_ctx=8192)
    one = moe_facts(other_bytes=12 * MIB)
    ample = MemoryBudget(64 * GIB, (64 * GIB,), (False,), performance_cores=8)
    whole = plan_offload(one, ample, wishes).devices[0].planned_bytes
    more = (needed_mib * MIB - whole) // 48
    model = moe_facts(other_bytes=12 * MIB + more)
    planned = plan_offload(model, ample, wishes).devices[0].planned_bytes
    assert abs(planned - needed_mib * MIB) < MIB
    card = replace(CARD, vram_free_bytes=free_mib * MIB, drives_display=drives_display)
    facts = HardwareFacts(replace(FAKE_HOST, ram_available_bytes=64 * GIB), None, (card,))
    return plan_offload(model, budget_from(facts), wishes)


def codes(plan: OffloadPlan) -> set[FindingCode]:
    return {finding.code for finding in plan.findings}


def test_h13_what_fits_fits_and_what_leaves_no_margin_is_planned_anew() -> None:
    fits = plan_of(6400, 7292)
    assert fits.devices[0].planned_bytes > 6399 * MIB
    assert not codes(fits) & {FindingCode.VRAM_MARGIN_SMALL, FindingCode.LAYERS_IN_RAM}
    for too_much in (7250, 8000):  # 42 MiB left is less than max(512 MiB, 5 %); 8000 is more than there is
        plan = plan_of(too_much, 7292)
        assert plan.devices[0].planned_bytes <= (7292 - 512) * MIB
        given_up = {FindingCode.LAYERS_IN_RAM, FindingCode.KV_TYPE_CHANGED, FindingCode.CONTEXT_REDUCED}
        assert codes(plan) & given_up
    close = plan_of(6400, 6400 + 550, drives_display=True)  # a screen keeps 1 GiB
    assert FindingCode.VRAM_MARGIN_SMALL in codes(close)
    (warned,) = (f for f in close.findings if f.code is FindingCode.VRAM_MARGIN_SMALL)
    assert warned.severity is Severity.WARNING


def test_h13_what_others_take_meanwhile_changes_the_next_plan() -> None:
    before, after = plan_of(6400, 7292), plan_of(6400, 8192 - 3000)
    assert before.devices[0].planned_bytes > after.devices[0].planned_bytes
    assert after.devices[0].planned_bytes <= (8192 - 3000 - 512) * MIB


# H14: numbers of integrated GPUs


def test_h14_without_an_adapter_models_run_on_the_processor_and_nothing_is_raised() -> None:
    facts = detect(FakeGpuSource(), FakeHostSource())
    assert {finding.code for finding in facts.findings} == {FindingCode.GPU_NOT_FOUND}
    plan = plan_offload(moe_facts(), budget_from(facts), Wishes())
    assert [device.name for device in plan.devices] == ["CPU"]
    assert best_flavour(facts) is EngineFlavour.CPU


def test_h14_a_card_comes_before_a_chip_and_shared_memory_is_no_vram() -> None:
    chip = GpuInfo(
        0,
        "AMD Radeon(TM) Graphics",
        "amd",
        vram_total_bytes=481296384,
        vram_free_bytes=400 * MIB,
        is_integrated=True,
        shared_total_bytes=16750372454,
        shared_free_bytes=15 * GIB,
    )
    card = replace(CARD, index=1, vendor="amd", name="AMD Radeon RX 7600", compute_capability=None)
    facts = detect(FakeGpuSource((chip, card)), FakeHostSource())
    assert [gpu.name for gpu in facts.gpus] == [card.name, chip.name]
    assert budget_from(facts).vram_free_bytes == (7292 * MIB,)
    alone = budget_from(detect(FakeGpuSource((chip,)), FakeHostSource()))
    assert alone.vram_free_bytes == (400 * MIB + 15 * GIB,)
    assert alone.shared_vram_bytes == (15 * GIB,)
    plan = plan_offload(moe_facts(), alone, Wishes())
    own = alone.vram_free_bytes[0] - alone.shared_vram_bytes[0]
    assert sum(device.planned_bytes for device in plan.devices) <= own + alone.ram_free_bytes


# H15: fields a card does not support

FIELDS: Mapping[str, tuple[str, ...]] = {
    "nvmlDeviceGetTemperatureV": ("temperature_celsius",),
    "nvmlDeviceGetUtilizationRates": ("utilization_percent",),
    "nvmlDeviceGetPowerUsage": ("power_milliwatts",),
    "nvmlDeviceGetFanSpeed": ("fan_percent",),
    "nvmlDeviceGetClockInfo": ("core_clock_hertz",),
    "nvmlDeviceGetMemoryInfo": ("vram_used_bytes", "vram_total_bytes"),
}
NOT_SUPPORTED = 3


@pytest.mark.parametrize("functions", [*((name,) for name in FIELDS), tuple(FIELDS)])
def test_h15_a_field_that_is_not_supported_is_none_and_the_others_keep_coming(
    functions: tuple[str, ...],
) -> None:
    nvml: Any = FakeNvml()
    gpus = AllGpus({"nvml": NvmlSource(nvml)})
    whole = _readings(gpus)
    nvml.failures = dict.fromkeys(functions, NOT_SUPPORTED)
    lacking = {field for function in functions for field in FIELDS[function]}
    for name, value in _readings(gpus).items():
        assert value == (None if name in lacking else whole[name])


def _readings(gpus: AllGpus) -> dict[str, object]:
    gpus.gpus()
    sample = gpus.read(0)
    return {name: getattr(sample, name) for names in FIELDS.values() for name in names}


# H16: no driver, one too old, a card too old


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("library-missing", FindingCode.NVIDIA_DRIVER_MISSING),
        ("driver-not-loaded", FindingCode.NVIDIA_DRIVER_FAILED),
        ("version-mismatch", FindingCode.NVIDIA_DRIVER_FAILED),
    ],
)
def test_h16_a_driver_that_is_not_there_and_one_that_does_not_answer_are_told_apart(
    reason: str, code: FindingCode
) -> None:
    source = FakeGpuSource()
    source.error = SourceError(reason, "as the driver says")
    found = {finding.code: finding for finding in detect(source, FakeHostSource()).findings}
    assert code in found
    if code is FindingCode.NVIDIA_DRIVER_FAILED:
        assert found[code].values == {"reason": reason, "detail": "as the driver says"}


@pytest.mark.parametrize(
    ("number", "driver", "shown"),
    [(12020, "536.67", (12, 2)), (12040, "551.61", (12, 4)), (13010, "591.44", (13, 1))],
)
def test_h16_cuda_is_the_drivers_number_in_words_of_people(
    number: int, driver: str, shown: tuple[int, int]
) -> None:
    nvml: Any = FakeNvml()
    nvml.answers = {"nvmlSystemGetCudaDriverVersion_v2": number, "nvmlSystemGetDriverVersion": driver}
    assert NvmlSource(nvml).driver() == DriverInfo(driver, shown)


@pytest.mark.parametrize("driver", ["536.67", "551.61", "591.44"])
@pytest.mark.parametrize("capability", [(6, 1), (7, 5), (8, 9), (12, 0)])
def test_h16_the_build_that_suits_never_meets_a_verdict_against_it(
    driver: str, capability: tuple[int, int]
) -> None:
    host = replace(FAKE_HOST, os_name="Windows")
    facts = HardwareFacts(host, DriverInfo(driver, None), (replace(CARD, compute_capability=capability),))
    best = best_flavour(facts)
    assert not (capability == (6, 1) and best is EngineFlavour.CUDA_13)
    builds = {
        EngineFlavour.CUDA_12: EngineBuildFacts("a", "cuda", (12, 4)),
        EngineFlavour.CUDA_13: EngineBuildFacts("b", "cuda", (13, 0)),
    }
    if best in builds:
        assert judge_engine(facts, builds[best]) == ()
    else:
        assert all(judge_engine(facts, build) for build in builds.values())


# H17: what was picked is what runs

OLD = replace(
    CARD, name="NVIDIA GeForce GTX 1660 SUPER", vram_total_bytes=6144 * MIB, vram_free_bytes=5324 * MIB
)
GOOD = replace(
    CARD,
    index=1,
    name="NVIDIA GeForce RTX 3090",
    uuid="GPU-bbbb",
    vram_total_bytes=24576 * MIB,
    vram_free_bytes=24268 * MIB,
)


@pytest.mark.parametrize("inherited", [(), (("CUDA_VISIBLE_DEVICES", "1,0"),)])
def test_h17_the_card_that_was_picked_is_planned_and_told_to_the_engine(
    inherited: tuple[tuple[str, str], ...],
) -> None:
    facts = HardwareFacts(FAKE_HOST, None, (OLD, GOOD), runtime=RuntimeFacts(gpu_variables=inherited))
    cuda = EngineBuildFacts("cuda-12.4", "cuda", (12, 4))
    seen = build_on_machine(cuda, facts, [gpu_key(OLD)])
    assert seen.choice.environment == {"CUDA_VISIBLE_DEVICES": "GPU-bbbb"}
    assert seen.budget.vram_free_bytes == (24268 * MIB,)
    both = build_on_machine(cuda, facts)
    ordered = (24268 * MIB, 5324 * MIB) if inherited else (5324 * MIB, 24268 * MIB)
    assert both.budget.vram_free_bytes == ordered  # an inherited order is kept
    assert both.choice.environment == {}
