"""Several GPUs, other machines, what Windows promises: against numbers worked out by hand.

The model: 48 blocks of 1000 MiB of routed experts, 50 MiB of everything else and, at 8192 tokens, 16 MiB of
cache; an output table of 167 MiB. A block costs 66 MiB without its experts and 1066 MiB with them. The tables
take 420 MiB for work memory; every result holds for anything from 300 to 800.
"""

from dataclasses import replace

import pytest

from app.engine.engine_on_machine import build_on_machine
from app.findings import FindingCode
from app.hardware.engine_facts import EngineBuildFacts, EngineDevice
from app.hardware.facts import CpuInfo, GpuInfo, HardwareFacts, HostInfo
from app.options import ALL_LAYERS
from app.planner.facts import MemoryBudget, OffloadPlan, Part, Wishes
from app.planner.measured_speeds import MachineSpeeds, SpeedCorrection
from app.planner.plan import plan_offload
from app.planner.report import RemoteDevice, budget_from, memory_needs, with_remote_devices
from app.planner.speed_history import place_key
from tests.planner_models import GIB, MIB, dense_facts, moe_facts

MODEL = moe_facts(expert_bytes=1000 * MIB, other_bytes=50 * MIB)
AT_8192 = Wishes(n_ctx=8192)
CARD = GpuInfo(
    0, "NVIDIA A", "nvidia", vram_total_bytes=24 * GIB, vram_free_bytes=24 * GIB, is_integrated=False
)
OTHER = replace(CARD, index=1, name="NVIDIA B", vram_total_bytes=16 * GIB, vram_free_bytes=15 * GIB)


def cards(*free_mib: int) -> MemoryBudget:
    """Return a machine with these cards; a screen hangs on the first."""
    screens = tuple(index == 0 for index in range(len(free_mib)))
    return MemoryBudget(128 * GIB, tuple(free * MIB for free in free_mib), screens)


def experts_on(plan: OffloadPlan) -> list[int]:
    """Return how many blocks' experts each device holds, RAM last."""
    return [device.parts.get(Part.ROUTED_EXPERTS, 0) // (1000 * MIB) for device in plan.devices]


def layers_on(plan: OffloadPlan) -> tuple[float, ...]:
    return plan.options.tensor_split


BY_HAND = [
    # 24576 - 1229 (5 %) = 23347; less 420, 167 and 48 x 66: 19592, so 19 of the 48
    pytest.param((24_576,), [19], 29, (), id="one"),
    # the last: 12500 - 625 = 11875, less 420 and 167: 11288 = 10 whole blocks and the output
    # the first: 16500 - 1024 = 15476, less 420 and 38 x 66: 12548, so 12
    pytest.param((16_500, 12_500), [12, 10], 26, (38, 11), id="two"),
    # 6000 - 512 = 5488, less 587: 4 whole; 23500 - 1175 = 22325, less 420: 20 whole
    # 7600 - 1024 = 6576, less 420 and 24 x 66: 4572, so 4
    pytest.param((7600, 23_500, 6000), [4, 20, 4], 20, (24, 20, 5), id="three"),
    # 500 - 512: the small one holds nothing, and the two others share as if it were not there
    pytest.param((16_500, 12_500, 500), [12, 10, 0], 26, (38, 11, 0), id="too-small"),
    # 60000 - 3000 hold all: 48 x 1066 + 587 = 51755. The small one is left alone
    pytest.param((8000, 60_000), [0, 48], 0, (), id="one-holds-all"),
]


@pytest.mark.parametrize(("free_mib", "experts", "n_cpu_moe", "split"), BY_HAND)
def test_cards_of_different_size_hold_what_a_person_would_work_out(
    free_mib: tuple[int, ...], experts: list[int], n_cpu_moe: int, split: tuple[int, ...]
) -> None:
    budget = cards(*free_mib)
    plan = plan_offload(MODEL, budget, AT_8192)
    assert plan.options.n_cpu_moe == n_cpu_moe
    assert plan.options.n_gpu_layers == ALL_LAYERS
    assert experts_on(plan) == [*experts, n_cpu_moe]
    assert layers_on(plan) == split
    for device, free in zip(plan.devices, budget.vram_free_bytes, strict=False):
        assert device.planned_bytes <= max(0, free - max(512 * MIB, free // 20))


def test_a_card_that_holds_everything_is_named_by_its_place() -> None:
    options = plan_offload(MODEL, cards(8000, 60_000), AT_8192).options
    assert (options.split_mode, options.main_gpu) == ("none", 1)


def test_a_card_the_engine_does_not_have_takes_no_part() -> None:
    host = HostInfo("Windows", "11", CpuInfo(physical_cores=8), 160 * GIB, 130 * GIB)
    facts = HardwareFacts(host, None, (replace(CARD, drives_display=True), OTHER))
    seen = (EngineDevice("CUDA0", "NVIDIA A", 24 * GIB, 24 * GIB),)
    budget = build_on_machine(EngineBuildFacts("a", "cuda", devices=seen), facts).budget
    plan = plan_offload(MODEL, budget, AT_8192)
    assert experts_on(plan) == [19, 29]
    assert (plan.options.tensor_split, plan.options.devices) == ((), ())


def test_a_split_is_in_the_order_in_which_the_engine_is_told_its_devices() -> None:
    host = HostInfo("Linux", None, CpuInfo(physical_cores=8), 160 * GIB, 130 * GIB)
    facts = HardwareFacts(host, None, (OTHER, CARD))
    facts = replace(facts, gpus=(replace(OTHER, index=0), replace(CARD, index=1)))
    # CUDA counts the faster card first, the driver the one in the first slot
    seen = (EngineDevice("CUDA0", "NVIDIA A", 24 * GIB), EngineDevice("CUDA1", "NVIDIA B", 16 * GIB))
    budget = build_on_machine(EngineBuildFacts("a", "cuda", devices=seen), facts).budget
    assert budget.vram_free_bytes == (15 * GIB, 24 * GIB)
    plan = plan_offload(MODEL, budget, AT_8192)
    assert plan.options.devices == ("CUDA1", "CUDA0")
    assert plan.options.tensor_split[1] > 20


def test_another_machines_device_comes_first_and_holds_what_is_left() -> None:
    # 16000 - 1024 = 14976, less 587: 13 whole blocks and the output
    # over the network: 12000 - 600 = 11400, less 420 and 35 x 66: 8670, so 8
    remote = [RemoteDevice("RPC0", 12_000 * MIB)]
    budget = with_remote_devices(cards(16_000), ("CUDA0",), ("192.168.1.9:50052",), remote)
    plan = plan_offload(MODEL, budget, AT_8192)
    assert experts_on(plan) == [8, 13, 27]
    assert plan.options.devices == ("RPC0", "CUDA0")
    assert plan.options.rpc_servers == ("192.168.1.9:50052",)
    assert plan.options.tensor_split == (35.0, 14.0)
    assert FindingCode.PROMPT_ON_CPU not in {finding.code for finding in plan.findings}


def test_another_machine_is_not_asked_when_this_one_holds_everything() -> None:
    remote = [RemoteDevice("RPC0", 90_000 * MIB)]
    budget = with_remote_devices(cards(60_000), ("CUDA0",), ("192.168.1.9:50052",), remote)
    options = plan_offload(MODEL, budget, AT_8192).options
    assert (options.devices, options.rpc_servers, options.tensor_split) == (("CUDA0",), (), ())


def test_the_only_device_being_elsewhere_nobody_is_told_to_close_programs_here() -> None:
    remote = [RemoteDevice("RPC0", 20_000 * MIB)]
    budget = with_remote_devices(MemoryBudget(128 * GIB), (), ("192.168.1.9:50052",), remote)
    plan = plan_offload(MODEL, budget, AT_8192)
    assert plan.options.op_offload is False  # an RPC device never works on weights in this machine's RAM
    assert plan.findings == ()


def test_without_room_on_any_device_no_server_is_named() -> None:
    remote = [RemoteDevice("RPC0", 600 * MIB)]
    budget = with_remote_devices(MemoryBudget(128 * GIB), (), ("192.168.1.9:50052",), remote)
    options = plan_offload(MODEL, budget, AT_8192).options
    assert (options.devices, options.rpc_servers, options.n_gpu_layers) == ((), (), 0)


def test_a_server_on_this_machine_lends_ram_that_counts_once() -> None:
    remote = [RemoteDevice("RPC0", 100 * GIB, is_this_machine=True)]
    budget = with_remote_devices(MemoryBudget(100 * GIB), (), ("127.0.0.1:50052",), remote)
    plan = plan_offload(MODEL, budget, AT_8192)
    assert sum(device.planned_bytes for device in plan.devices) <= 100 * GIB
    assert plan.devices[-1].free_bytes == 100 * GIB - plan.devices[0].planned_bytes


@pytest.mark.parametrize(
    ("commit_mib", "kv_type", "n_ctx", "repack"),
    [
        # 768 MiB of f16 cache and about 90 of work memory; 408 with q8_0; 204 with half the context
        (200_000, "f16", 16_384, True),
        (5000, "f16", 16_384, False),  # 48 GiB of weights are mapped, not promised; copies would have to be
        (1400, "f16", 8192, False),
        (700, "q8_0", 8192, False),
        (400, "q8_0", 4096, False),
    ],
)
def test_what_windows_still_promises_bounds_what_is_allocated_and_not_what_is_mapped(
    commit_mib: int, kv_type: str, n_ctx: int, repack: bool
) -> None:
    budget = MemoryBudget(100 * GIB, commit_left_bytes=commit_mib * MIB)
    plan = plan_offload(MODEL, budget, Wishes())
    assert (plan.options.type_k, plan.options.n_ctx) == (kv_type, n_ctx)
    assert plan.options.repack is repack
    assert memory_needs(plan).private_bytes <= commit_mib * MIB


def test_the_budget_knows_what_windows_still_promises() -> None:
    host = HostInfo("Windows", "11", CpuInfo(), 64 * GIB, 40 * GIB, 70 * GIB, 62 * GIB)
    assert budget_from(HardwareFacts(host)).commit_left_bytes == 8 * GIB
    assert budget_from(HardwareFacts(replace(host, commit_used_bytes=71 * GIB))).commit_left_bytes == 0
    assert budget_from(HardwareFacts(replace(host, commit_limit_bytes=None))).commit_left_bytes is None
    assert budget_from(HardwareFacts(host)).os_name == "Windows"


def test_prompts_kept_by_a_server_are_counted_in_ram() -> None:
    asked = plan_offload(MODEL, cards(24_576), replace(AT_8192, cache_ram_mib=8192))
    usual = plan_offload(MODEL, cards(24_576), AT_8192)
    assert asked.options.cache_ram_mib == 8192
    assert asked.devices[-1].parts[Part.PROMPT_CACHE] == 8192 * MIB
    assert asked.ram_bytes - usual.ram_bytes == 8192 * MIB
    assert memory_needs(asked).private_bytes - memory_needs(usual).private_bytes == 8192 * MIB
    assert Part.PROMPT_CACHE not in usual.devices[-1].parts
    assert asked.ladder[-1].options.cache_ram_mib == 0


def test_weights_that_would_be_copied_beyond_ram_are_not_repacked() -> None:
    budget = MemoryBudget(49 * GIB)  # holds the experts, and not the rest beside them
    plan = plan_offload(MODEL, budget, Wishes())
    assert plan.disk_bytes > 0
    assert plan.options.repack is False


def test_a_gpu_measured_slower_than_the_processor_is_left_out_and_says_so() -> None:
    budget = cards(24_576)
    with_gpu = place_key(plan_offload(MODEL, budget, Wishes()).options)
    without = place_key(plan_offload(MODEL, replace(budget, vram_free_bytes=()), Wishes()).options)

    def answered(gpu: float, cpu: float) -> MemoryBudget:
        speeds = {with_gpu: gpu, without: cpu}
        by_place = {place: SpeedCorrection(1.0, True, 1, speed) for place, speed in speeds.items()}
        return replace(budget, speeds=MachineSpeeds(by_place=by_place))

    slow = answered(6.51, 9.04)
    plan = plan_offload(MODEL, slow, Wishes())
    assert (plan.options.n_gpu_layers, plan.devices[0].planned_bytes) == (0, 0)
    (said,) = plan.findings
    assert said.code is FindingCode.GPU_SLOWER_THAN_CPU
    assert said.values == {"gpu_tokens_per_second": 6.5, "cpu_tokens_per_second": 9.0}
    assert plan_offload(MODEL, slow, Wishes(moe="all")).options.n_gpu_layers == ALL_LAYERS
    assert plan_offload(MODEL, answered(9.1, 9.04), Wishes()).options.n_gpu_layers == ALL_LAYERS


def test_a_gpu_whose_measured_bandwidth_is_far_below_that_of_ram_is_left_out_too() -> None:
    slow = replace(cards(24_576), ram_bytes_per_second=60e9, vram_bytes_per_second=5e9)
    assert FindingCode.GPU_SLOWER_THAN_CPU in {f.code for f in plan_offload(MODEL, slow, Wishes()).findings}
    for ram, vram in ((60e9, 50e9), (60e9, 300e9), (60e9, None)):
        like = replace(slow, ram_bytes_per_second=ram, vram_bytes_per_second=vram)
        assert plan_offload(MODEL, like, Wishes()).options.n_gpu_layers == ALL_LAYERS


def test_whole_layers_are_compared_with_the_engines_cache_of_single_experts() -> None:
    plan = plan_offload(MODEL, cards(16_500, 12_500), AT_8192)
    outlook = plan.expert_cache
    assert outlook is not None
    assert outlook.kept_share == pytest.approx(22 / 48)
    # 48 x 66, the output and two work memories leave 23176 of the 27351 MiB
    assert 0.46 < outlook.cached_share < 0.50
    assert 0.76 < outlook.hit_share_low < outlook.hit_share_high < 0.90
    assert outlook.reads_fewer_from_ram is True
    first, last = outlook.cache_bytes
    assert first < 15_476 * MIB and last < 11_875 * MIB


def test_a_cache_smaller_than_what_one_token_needs_finds_nothing() -> None:
    # 8 of 128 experts are used: 63 MiB a block, 3000 MiB a token; 1500 MiB are left
    tight = plan_offload(MODEL, cards(1024 + 650 + 167 + 48 * 66 + 1500), AT_8192)
    assert tight.expert_cache is not None
    assert (tight.expert_cache.hit_share_low, tight.expert_cache.reads_fewer_from_ram) == (0.0, False)


def test_where_nothing_is_left_to_choose_nothing_is_compared() -> None:
    assert plan_offload(MODEL, cards(60_000), AT_8192).expert_cache is None
    assert plan_offload(MODEL, MemoryBudget(128 * GIB), AT_8192).expert_cache is None
    assert plan_offload(dense_facts(), cards(8000), AT_8192).expert_cache is None
