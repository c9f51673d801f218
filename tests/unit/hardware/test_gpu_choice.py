"""Cards a person excludes: how engines are told, and whether they obeyed. Case H17."""

from dataclasses import replace

import pytest

from app.findings import FindingCode
from app.hardware.engine_facts import EngineBuildFacts, EngineDevice
from app.hardware.facts import GpuInfo, HardwareFacts, RuntimeFacts
from app.hardware.gpu_choice import (
    GpuChoice,
    choose_gpus,
    gpu_key,
    judge_choice,
    named_gpus,
    without_excluded,
)
from app.hardware.verdicts_engine import judge_flavour, match_devices, seen_by_engine
from app.planner.report import budget_from
from app.processes.environment import engine_environment
from tests.fakes import FAKE_HOST, GIB

MIB = 1024**2
OLD = GpuInfo(
    0, "NVIDIA GeForce GTX 1660 SUPER", "nvidia", "GPU-aaaa", "00000000:01:00.0", 6144 * MIB, 5 * GIB, (7, 5)
)
GOOD = GpuInfo(
    1, "NVIDIA GeForce RTX 3090", "nvidia", "GPU-bbbb", "00000000:02:00.0", 24576 * MIB, 23 * GIB, (8, 6)
)
CHIP = GpuInfo(2, "AMD Radeon(TM) 780M", "amd", is_integrated=True, shared_free_bytes=12 * GIB)
ARC = GpuInfo(0, "Intel Arc A770", "intel", pci_bus_id="0000:03:00.0", vram_total_bytes=16 * GIB)
PC = HardwareFacts(FAKE_HOST, gpus=(OLD, GOOD))
CUDA = EngineBuildFacts("c", "cuda", (12, 4))
VULKAN = EngineBuildFacts(
    "v",
    "vulkan",
    devices=(
        EngineDevice("Vulkan0", "NVIDIA GeForce RTX 3090", 24576 * MIB, 23 * GIB),
        EngineDevice("Vulkan1", "NVIDIA GeForce GTX 1660 SUPER", 6144 * MIB, 5 * GIB),
    ),
)


def test_cuda_is_told_the_card_by_its_uuid() -> None:
    choice = choose_gpus(PC, CUDA, {gpu_key(OLD)})
    assert choice.environment == {"CUDA_VISIBLE_DEVICES": "GPU-bbbb"}
    assert (choice.devices, choice.findings) == ((), ())
    assert budget_from(without_excluded(PC, {gpu_key(OLD)})).vram_free_bytes == (23 * GIB,)


def test_an_inherited_order_is_kept() -> None:
    third = replace(GOOD, index=2, uuid="GPU-cccc", name="NVIDIA GeForce RTX 4090")
    runtime = RuntimeFacts(gpu_variables=(("CUDA_VISIBLE_DEVICES", "2,1,0"),))
    facts = HardwareFacts(FAKE_HOST, gpus=(OLD, GOOD, third), runtime=runtime)
    choice = choose_gpus(facts, CUDA, {gpu_key(GOOD)})
    assert choice.environment == {"CUDA_VISIBLE_DEVICES": "GPU-cccc,GPU-aaaa"}


def test_cuda_without_any_card_is_told_of_none() -> None:
    choice = choose_gpus(PC, CUDA, {gpu_key(OLD), gpu_key(GOOD)})
    assert choice.environment == {"CUDA_VISIBLE_DEVICES": "-1"}


def test_vulkan_is_told_its_own_names_whatever_order_it_counts_in() -> None:
    choice = choose_gpus(PC, VULKAN, {gpu_key(OLD)})
    assert (choice.devices, choice.environment) == (("Vulkan0",), {})


def test_a_vulkan_engine_that_takes_no_names_is_told_numbers() -> None:
    choice = choose_gpus(PC, VULKAN, {gpu_key(OLD)}, takes_devices=False)
    assert choice.devices == ()
    child = engine_environment({"GGML_VK_VISIBLE_DEVICES": "7"} | dict(choice.environment))
    assert child["GGML_VK_VISIBLE_DEVICES"] == "0"
    assert engine_environment(child)["GGML_VK_VISIBLE_DEVICES"] == "0"  # for the engine's own child as well


@pytest.mark.parametrize("build", [CUDA, VULKAN, EngineBuildFacts("p", "cpu", devices=()), None])
def test_nothing_is_told_without_a_choice(build: EngineBuildFacts | None) -> None:
    choice = choose_gpus(PC, build, set())
    assert (choice.environment, choice.devices, choice.excluded) == ({}, (), ())


def test_a_card_the_build_cannot_use_need_not_be_hidden() -> None:
    facts = HardwareFacts(FAKE_HOST, gpus=(OLD, CHIP))
    assert choose_gpus(facts, CUDA, {gpu_key(CHIP)}).environment == {}


def test_vulkan_without_any_card_is_told_of_none() -> None:
    everything = {gpu_key(OLD), gpu_key(GOOD)}
    assert budget_from(without_excluded(PC, everything)).vram_free_bytes == ()
    told = choose_gpus(PC, VULKAN, everything, takes_devices=False)
    assert told.environment == {"MOXIE_VK_VISIBLE_DEVICES": "none"}


def test_twins_cannot_be_told_apart_by_name() -> None:
    twin = replace(GOOD, index=2, uuid="GPU-dddd", pci_bus_id="00000000:03:00.0")
    facts = HardwareFacts(FAKE_HOST, gpus=(GOOD, twin))
    (finding,) = choose_gpus(facts, VULKAN, {gpu_key(twin)}).findings
    assert finding.code is FindingCode.GPU_CHOICE_AMBIGUOUS
    assert finding.values == {"gpu": GOOD.name, "total_bytes": 24576 * MIB}
    assert choose_gpus(facts, CUDA, {gpu_key(twin)}).findings == ()


def test_cards_of_one_name_are_told_apart_by_their_size() -> None:
    small = replace(GOOD, index=2, vram_total_bytes=12 * GIB)
    devices = (
        EngineDevice("Vulkan0", GOOD.name, 12 * GIB),
        EngineDevice("Vulkan1", GOOD.name, 24576 * MIB),
    )
    pairs = match_devices((GOOD, small), devices)
    assert {gpu.index: device.name for gpu, device in pairs} == {1: "Vulkan1", 2: "Vulkan0"}


def test_memory_on_an_excluded_card_is_a_finding_with_names() -> None:
    choice = GpuChoice({}, (), (GOOD,), (OLD,))
    (finding,) = judge_choice(choice, VULKAN.devices or (), ("Vulkan0", "Vulkan1", "CPU_Mapped"))
    assert finding.code is FindingCode.GPU_CHOICE_NOT_HONOURED
    assert finding.values == {"used": (OLD.name,), "excluded": (OLD.name,), "allowed": (GOOD.name,)}
    assert judge_choice(choice, VULKAN.devices or (), ("Vulkan0", "CPU")) == ()
    assert judge_choice(GpuChoice({}), VULKAN.devices or (), ("Vulkan0", "Vulkan1")) == ()


TWIN = replace(GOOD, index=2, uuid="GPU-dddd", pci_bus_id="00000000:03:00.0")
LISTED_TWINS = (
    EngineDevice("Vulkan0", GOOD.name, 24576 * MIB),
    EngineDevice("Vulkan1", GOOD.name, 24576 * MIB),
)


def used_cards(choice: GpuChoice, buffers: list[str], bus_ids: dict[str, str] | None = None) -> list[object]:
    return [f.values["used"] for f in judge_choice(choice, LISTED_TWINS, buffers, bus_ids)]


def test_of_twins_the_used_one_is_known_by_its_place_on_the_bus() -> None:
    choice = GpuChoice({}, ("Vulkan0",), (GOOD,), (TWIN,))
    places = {"Vulkan0": "0000:03:00.0", "Vulkan1": "0000:02:00.0"}
    assert used_cards(choice, ["Vulkan0"], places) == [(TWIN.name,)]
    assert used_cards(choice, ["Vulkan1"], places) == []
    assert used_cards(choice, ["Vulkan0"], {"Vulkan0": "0000:02:00.0"}) == []


def test_of_twins_without_a_place_no_more_are_used_than_are_allowed() -> None:
    by_uuid = GpuChoice({"CUDA_VISIBLE_DEVICES": "GPU-bbbb"}, (), (GOOD,), (TWIN,))
    assert used_cards(by_uuid, ["Vulkan0"]) == []
    assert used_cards(by_uuid, ["Vulkan0", "Vulkan1"]) == [(TWIN.name,)]
    by_name = GpuChoice({}, ("Vulkan0",), (GOOD,), (TWIN,))
    assert used_cards(by_name, ["Vulkan0"]) == []
    assert used_cards(by_name, ["Vulkan1"]) == [(TWIN.name,)]


def test_a_card_whose_name_begins_with_that_of_an_allowed_one_is_another() -> None:
    short, long = (
        replace(OLD, name="NVIDIA GeForce RTX 4070"),
        replace(GOOD, name="NVIDIA GeForce RTX 4070 Ti"),
    )
    device = EngineDevice("Vulkan0", long.name)
    assert judge_choice(GpuChoice({}, (), (short,), (long,)), [device], ["Vulkan0"])
    assert not judge_choice(GpuChoice({}, (), (long,), (short,)), [device], ["Vulkan0"])


def test_a_card_is_named_by_itself_before_its_place() -> None:
    assert gpu_key(GOOD) == "uuid:gpu-bbbb"
    assert gpu_key(ARC) == "pci:0000:03:00.0"
    assert gpu_key(GpuInfo(0, "x", luid="0x0000_0x1")) == "luid:0x0000_0x1"
    assert gpu_key(GpuInfo(0, "x")) == "name:x"


@pytest.mark.parametrize("word", ["1", "GPU-bbbb", "gpu-bb", "00000000:02:00.0", "3090", "RTX 3090"])
def test_a_card_may_be_named_in_many_ways(word: str) -> None:
    assert named_gpus([word], PC.gpus) == (GOOD,)


@pytest.mark.parametrize("word", ["", "7", "GeForce", "GPU-", "4090"])
def test_a_word_that_names_none_or_several_names_nothing(word: str) -> None:
    assert named_gpus([word], PC.gpus) is None


# what an engine can use of a machine


def test_a_build_for_the_processor_is_planned_without_gpus() -> None:
    facts = HardwareFacts(FAKE_HOST, gpus=(GOOD, CHIP))
    cpu = EngineBuildFacts("worker", "cpu", devices=())
    assert budget_from(seen_by_engine(facts, cpu)).vram_free_bytes == ()
    assert budget_from(seen_by_engine(facts, None)).vram_free_bytes == (23 * GIB,)
    assert budget_from(seen_by_engine(HardwareFacts(FAKE_HOST, gpus=(CHIP,)), CUDA)).vram_free_bytes == ()


def test_a_card_the_engine_does_not_list_is_not_planned() -> None:
    blind = replace(VULKAN, devices=(VULKAN.devices or ())[:1])
    assert seen_by_engine(PC, blind).gpus == (GOOD,)


def test_free_memory_that_the_system_does_not_give_comes_from_the_engine() -> None:
    build = EngineBuildFacts(
        "v", "vulkan", devices=(EngineDevice("Vulkan0", "Intel(R) Arc(TM) A770", 16 * GIB, 15 * GIB),)
    )
    facts = HardwareFacts(FAKE_HOST, gpus=(ARC,))
    assert budget_from(facts).vram_free_bytes == ()
    assert budget_from(seen_by_engine(facts, build)).vram_free_bytes == (15 * GIB,)
    chip = replace(ARC, is_integrated=True, vram_total_bytes=None)
    shared = budget_from(seen_by_engine(HardwareFacts(FAKE_HOST, gpus=(chip,)), build))
    assert (shared.vram_free_bytes, shared.shared_vram_bytes) == ((15 * GIB,), (15 * GIB,))


def test_a_build_that_leaves_all_cards_idle_is_told_with_the_one_that_would_not() -> None:
    (finding,) = judge_flavour(PC, EngineBuildFacts("worker", "cpu", devices=()))
    assert finding.code is FindingCode.ENGINE_FLAVOUR_UNFIT
    assert finding.values["flavour"] == "vulkan"  # no driver version is known
    assert judge_flavour(PC, CUDA) == ()
    assert judge_flavour(HardwareFacts(FAKE_HOST), EngineBuildFacts("worker", "cpu")) == ()
