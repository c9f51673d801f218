"""What holds for any model on any machine."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from app.findings import FindingCode
from app.gguf.facts import ModelFacts
from app.options import ALL_LAYERS
from app.planner.facts import MemoryBudget, OffloadPlan, Part, Wishes
from app.planner.plan import plan_of_step, plan_offload
from app.planner.report import memory_needs
from tests.planner_models import GIB, MIB, WEIGHT_PARTS, moe_facts

models = st.builds(
    lambda blocks, expert, other, leading, vocabulary, heads, context: moe_facts(
        blocks=blocks,
        expert_bytes=expert,
        other_bytes=other,
        leading_dense=min(leading, blocks - 1),
        vocabulary=vocabulary,
        kv_heads=heads,
        context_length=context,
    ),
    blocks=st.integers(1, 80),
    expert=st.one_of(st.just(0), st.integers(1 * MIB, 3 * GIB)),
    other=st.integers(4 * MIB, 400 * MIB),
    leading=st.integers(0, 3),
    vocabulary=st.sampled_from([32_000, 151_936, 262_144]),
    heads=st.sampled_from([1, 4, 8]),
    context=st.sampled_from([None, 512, 8192, 131_072]),
)
wishes = st.builds(
    Wishes,
    moe=st.sampled_from(["auto", "auto", "off", "all", 0, 1, 7, 200]),
    n_ctx=st.sampled_from([None, None, 2048, 40_000]),
    kv_type=st.sampled_from([None, None, "q8_0"]),
    cache_ram_mib=st.sampled_from([0, 0, 512]),
)
speeds = st.sampled_from([None, 2e9, 40e9, 800e9])


@st.composite
def budgets(draw: st.DrawFn) -> MemoryBudget:
    """Draw a machine: cards of any size or a chip that shares RAM, some of them far away, Windows or not."""
    ram = draw(st.integers(1 * GIB, 256 * GIB))
    vram = draw(st.lists(st.integers(0, 48 * GIB), max_size=3))
    is_chip = len(vram) == 1 and draw(st.booleans())
    is_named = draw(st.booleans())
    return MemoryBudget(
        ram_free_bytes=ram,
        vram_free_bytes=tuple(vram),
        drives_display=tuple(draw(st.booleans()) for _ in vram),
        shared_vram_bytes=(min(vram[0], ram),) if is_chip else (),
        devices=tuple("RPC0" if not gpu else f"CUDA{gpu}" for gpu in range(len(vram))) if is_named else (),
        rpc_servers=("192.168.1.9:50052",) if is_named and vram else (),
        commit_left_bytes=draw(st.one_of(st.none(), st.integers(0, 64 * GIB))),
        ram_bytes_per_second=draw(speeds),
        vram_bytes_per_second=draw(speeds),
        disk_bytes_per_second=draw(speeds),
    )


def kept(budget: MemoryBudget, gpu: int, *, is_auto: bool) -> int:
    free = budget.vram_free_bytes[gpu]
    screen = GIB if budget.drives_display[gpu] and is_auto else GIB // 2
    return max(screen, free // 20)


def on_gpus(plan: OffloadPlan, *parts: Part) -> int:
    return sum(device.parts.get(part, 0) for device in plan.devices[:-1] for part in parts)


@given(model=models, budget=budgets(), wish=wishes)
@settings(max_examples=250, deadline=None)
def test_no_device_is_overdrawn_and_every_number_is_in_range(
    model: ModelFacts, budget: MemoryBudget, wish: Wishes
) -> None:
    plan = plan_offload(model, budget, wish)
    is_auto = wish.moe == "auto" or not model.routed_expert_bytes
    for gpu, device in enumerate(plan.devices[:-1]):
        assert sum(device.parts.values()) == device.planned_bytes
        assert device.planned_bytes <= max(0, device.free_bytes - kept(budget, gpu, is_auto=is_auto))
    blocks = model.block_count or 0
    options = plan.options
    assert 0 <= options.n_cpu_moe <= blocks
    assert options.n_gpu_layers == ALL_LAYERS or 0 <= options.n_gpu_layers <= blocks
    assert options.type_k == options.type_v
    used = [device for device in plan.devices[:-1] if device.planned_bytes]
    if len(used) > 1:
        items = blocks + 1 if options.n_gpu_layers == ALL_LAYERS else options.n_gpu_layers
        assert sum(options.tensor_split) == items
    assert len([share for share in options.tensor_split if share]) in (0, len(used))
    assert set(options.devices) <= set(budget.devices)
    assert bool(options.rpc_servers) is any(name == "RPC0" for name in options.devices)
    if plan.disk_bytes:
        assert options.repack is False


@given(model=models, budget=budgets(), wish=wishes)
@settings(max_examples=250, deadline=None)
def test_every_step_needs_no_more_of_a_gpu_than_the_one_above_and_ram_carries_it(
    model: ModelFacts, budget: MemoryBudget, wish: Wishes
) -> None:
    plan = plan_offload(model, budget, wish)
    errors = (FindingCode.MODEL_EXCEEDS_MEMORY,)
    is_carried = not any(finding.code in errors for finding in plan.findings)
    placed = [plan_of_step(model, budget, plan, step) for step in plan.ladder]
    for above, below in pairwise(placed):
        for higher, lower in zip(above.devices[:-1], below.devices[:-1], strict=True):
            assert lower.planned_bytes <= higher.planned_bytes
        assert below.options.n_ctx <= above.options.n_ctx
        if is_carried:
            assert below.ram_bytes <= below.devices[-1].free_bytes
    for step, again in zip(plan.ladder, placed, strict=True):
        assert step.vram_bytes == sum(device.planned_bytes for device in again.devices[:-1])
        assert (step.ram_bytes, step.disk_bytes) == (again.ram_bytes, again.disk_bytes)
        assert step.tokens_per_second == again.tokens_per_second
    bigger = plan.bigger_context
    if bigger is not None:
        assert plan.options.n_ctx < bigger.options.n_ctx <= (model.context_length or 0)
        again = plan_of_step(model, budget, plan, bigger)
        for gpu, device in enumerate(again.devices[:-1]):
            assert device.planned_bytes <= max(0, device.free_bytes - kept(budget, gpu, is_auto=False))


@given(
    model=models,
    ram=st.integers(8 * GIB, 256 * GIB),
    vram=st.lists(st.integers(0, 40 * GIB), min_size=1, max_size=3),
    more=st.integers(1, 8 * GIB),
    which=st.integers(0, 2),
)
@settings(max_examples=250, deadline=None)
def test_more_vram_never_gives_less_on_the_gpus(
    model: ModelFacts, ram: int, vram: list[int], more: int, which: int
) -> None:
    budget = MemoryBudget(ram, tuple(vram), (True,) * len(vram))
    grown = list(vram)
    grown[which % len(vram)] += more
    before = plan_offload(model, budget, Wishes())
    after = plan_offload(model, replace(budget, vram_free_bytes=tuple(grown)), Wishes())
    assert on_gpus(before, *WEIGHT_PARTS) <= on_gpus(after, *WEIGHT_PARTS)


@given(
    model=models,
    ram=st.integers(8 * GIB, 256 * GIB),
    vram=st.integers(0, 40 * GIB),
    more=st.integers(0, 40 * GIB),
)
@settings(max_examples=150, deadline=None)
def test_another_card_never_gives_less_on_the_gpus(model: ModelFacts, ram: int, vram: int, more: int) -> None:
    before = plan_offload(model, MemoryBudget(ram, (vram,), (True,)), Wishes())
    after = plan_offload(model, MemoryBudget(ram, (vram, more), (True, False)), Wishes())
    assert on_gpus(before, *WEIGHT_PARTS) <= on_gpus(after, *WEIGHT_PARTS)


@given(model=models, ram=st.integers(64 * GIB, 256 * GIB), commit=st.integers(0, 32 * GIB))
@settings(max_examples=100, deadline=None)
def test_less_is_promised_less_is_allocated(model: ModelFacts, ram: int, commit: int) -> None:
    plan = plan_offload(model, MemoryBudget(ram, commit_left_bytes=commit), Wishes())
    smallest = plan_offload(model, MemoryBudget(ram, commit_left_bytes=0), Wishes())
    least = memory_needs(smallest).private_bytes
    assert memory_needs(plan).private_bytes <= max(commit, least)
