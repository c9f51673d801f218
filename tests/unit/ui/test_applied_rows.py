"""The table planned / asked / applied / measured."""

from dataclasses import replace

import pytest

from app.engine.protocol import BufferUse, DeviceInfo, Hello, Loaded
from app.findings import FindingCode, warning
from app.gguf.facts import ModelFacts, TensorClass
from app.options import EngineOptions
from app.texts import Texts
from app.ui.model_view import ModelView
from app.ui.views.applied_rows import AppliedRow, Column, applied_rows, differs_enough
from app.ui.views.measured import Share, device_names, measured_uses
from app.ui.views.words import say
from tests.plan_views import HELLO, differing_view, failed_view, loaded_view, planned_view
from tests.planner_models import GIB, MIB, moe_facts, weight_bytes

ENGLISH = Texts("en")


def texts_of(view: ModelView) -> dict[str, dict[str, str]]:
    """Return the table as it reads in English."""
    return {
        say(ENGLISH, row.name): {column.value: say(ENGLISH, words) for column, words in row.cells.items()}
        for row in applied_rows(view)
    }


def marked_rows(view: ModelView) -> dict[str, AppliedRow]:
    """Return the rows that are marked, by name."""
    return {say(ENGLISH, row.name): row for row in applied_rows(view) if row.marked}


def reason_of(row: AppliedRow) -> str:
    """Return why a row is marked."""
    assert row.reason is not None
    return say(ENGLISH, row.reason)


def test_without_plan_and_load_there_is_no_table() -> None:
    assert applied_rows(ModelView()) == ()


def test_before_a_load_only_the_plan_has_values() -> None:
    rows = texts_of(planned_view())
    assert rows["Context"] == {"planned": "8,192"}
    assert rows["GPU layers"] == {"planned": "all"}
    assert rows["Experts in RAM"] == {"planned": "21"}
    assert rows["KV cache"] == {"planned": "f16"}
    assert rows["GPU0 VRAM"] == {"planned": "10.9 GB"}
    assert rows["RAM"] == {"planned": "7.4 GB"}


def test_a_failed_load_shows_what_was_asked() -> None:
    rows = texts_of(failed_view())
    assert rows["Context"] == {"planned": "8,192", "asked": "8,192"}
    assert "measured" not in rows["GPU0 VRAM"]


def test_a_load_that_went_as_planned_marks_nothing() -> None:
    view = loaded_view()
    assert marked_rows(view) == {}
    rows = texts_of(view)
    assert rows["GPU layers"] == {"planned": "all", "asked": "all", "applied": "49"}
    assert rows["Context"]["measured"] == "8,192"
    assert rows["GPU0 VRAM"] == {"planned": "10.9 GB", "measured": "10.9 GB"}


def test_what_an_engine_says_nothing_about_has_no_value() -> None:
    assert "applied" not in texts_of(loaded_view())["Repack"]


def test_another_value_than_asked_is_marked_with_both_values() -> None:
    row = marked_rows(loaded_view(n_threads=4, n_threads_batch=4))["Threads"]
    assert row.marked is Column.APPLIED
    assert reason_of(row) == "The engine runs with 4 instead of 8."


def test_the_engines_own_reason_is_told() -> None:
    row = marked_rows(differing_view())["KV cache"]
    assert reason_of(row) == "The engine kept f16: q8_0 needs flash attention, which is off for this model."


def test_an_unseen_gpu_is_the_reason_for_layers_on_the_processor() -> None:
    view = loaded_view(n_gpu_layers=0)
    assert view.loaded is not None
    unseen = warning(FindingCode.ENGINE_GPU_UNSEEN, engine="worker")
    view = replace(view, loaded=replace(view.loaded, findings=(unseen,)))
    assert "sees no graphics card" in reason_of(marked_rows(view)["GPU layers"])


def test_types_that_differ_are_both_told() -> None:
    assert texts_of(loaded_view(type_v="q8_0"))["KV cache"]["applied"] == "f16 / q8_0"


@pytest.mark.parametrize(
    ("planned", "measured", "differs"),
    [
        (100 * MIB, 108 * MIB, False),
        (100 * MIB, 108 * MIB + 1, True),
        (100 * MIB, 92 * MIB - 1, True),
        (10 * GIB, 10 * GIB + 512 * MIB, False),
        (10 * GIB, 10 * GIB + 513 * MIB, True),
        (0, 8 * MIB + 1, True),
    ],
)
def test_five_percent_or_eight_mib_are_tolerated(planned: int, measured: int, differs: bool) -> None:
    assert differs_enough(planned, measured) is differs


def test_more_memory_than_planned_is_marked_and_says_which_part() -> None:
    row = marked_rows(loaded_view(700 * MIB))["GPU0 VRAM"]
    assert row.marked is Column.MEASURED
    assert reason_of(row) == "700 MB more than planned, most of it KV cache: 1.4 GB instead of 768 MB."


def test_less_memory_than_planned_is_told_and_not_marked() -> None:
    view = loaded_view(-700 * MIB)
    assert marked_rows(view) == {}
    row = next(row for row in applied_rows(view) if say(ENGLISH, row.name) == "GPU0 VRAM")
    assert reason_of(row).startswith("700 MB less than planned, most of it KV cache")


def test_a_plan_for_the_next_load_is_not_compared_with_this_one() -> None:
    view = loaded_view(700 * MIB)
    assert view.plan is not None
    other = replace(view.plan, options=replace(view.plan.options, n_ctx=4096))
    assert marked_rows(replace(view, plan=other, needs_reload=True)) == {}


def test_an_engine_that_lists_no_buffers_has_nothing_measured() -> None:
    view = loaded_view()
    assert view.loaded is not None
    view = replace(view, loaded=replace(view.loaded, buffers=()))
    assert "measured" not in texts_of(view)["GPU0 VRAM"]
    assert marked_rows(view) == {}


def test_a_planned_device_the_engine_left_empty_holds_nothing() -> None:
    view = loaded_view()
    assert view.loaded is not None
    buffers = tuple(b for b in view.loaded.buffers if b.device == "CPU")
    row = marked_rows(replace(view, loaded=replace(view.loaded, buffers=buffers)))["GPU0 VRAM"]
    assert say(ENGLISH, row.cells[Column.MEASURED]) == "0 B"


def test_experts_on_disk_are_part_of_the_row_of_the_ram() -> None:
    view = planned_view()
    assert view.plan is not None
    view = replace(view, plan=replace(view.plan, disk_bytes=2 * GIB))
    assert texts_of(view)["RAM and disk"] == {"planned": "9.4 GB"}


@pytest.mark.parametrize(("sent", "said"), [(15, "15"), (0, None)])
def test_without_a_gpu_the_table_says_what_was_sent(sent: int, said: str | None) -> None:
    options = EngineOptions(n_ctx=4096, n_gpu_layers=0, n_cpu_moe=sent)
    view = ModelView(facts=moe_facts(), asked=options)
    assert texts_of(view)["Experts in RAM"].get("asked") == said


def test_a_dense_model_has_no_row_for_experts() -> None:
    dense = replace(planned_view(), facts=moe_facts(expert_bytes=0, other_bytes=200 * MIB))
    assert "Experts in RAM" not in texts_of(dense)


def test_the_first_gpu_of_the_engine_is_the_first_of_the_plan() -> None:
    devices = tuple(
        DeviceInfo(name, name, kind)
        for name, kind in (("CPU", "cpu"), ("Vulkan0", "igpu"), ("Vulkan1", "gpu"), ("Vulkan2", "gpu"))
    )
    assert device_names(devices) == {"Vulkan1": "GPU0", "Vulkan2": "GPU1"}
    assert device_names(devices, ("Vulkan2", "Vulkan1")) == {"Vulkan2": "GPU0", "Vulkan1": "GPU1"}
    assert device_names(devices[:2]) == {"Vulkan0": "GPU0"}


def loaded_with(facts: ModelFacts, *buffers: BufferUse, gpu_layers: int = 0) -> ModelView:
    """Return a view of an engine that took these buffers."""
    return ModelView(facts=facts, hello=HELLO, loaded=Loaded({"n_gpu_layers": gpu_layers}, buffers))


def test_buffers_of_the_host_are_all_the_cpus() -> None:
    names = ("CPU", "CPU_Mapped", "CPU_REPACK", "AMX", "CUDA_Host")
    view = loaded_with(moe_facts(), *(BufferUse(name, "model", MIB) for name in names))
    (use,) = measured_uses(view)
    assert (use.name, use.size_bytes) == ("CPU", 5 * MIB)
    assert (use.mapped_bytes, use.rearranged_bytes) == (MIB, 2 * MIB)


def test_a_mapped_weight_that_another_device_holds_counts_once() -> None:
    facts = moe_facts()
    total = weight_bytes(facts)
    view = loaded_with(
        facts, BufferUse("CPU_Mapped", "model", total), BufferUse("CUDA0", "model", 10 * GIB), gpu_layers=49
    )
    gpu, cpu = measured_uses(view)
    assert (gpu.name, gpu.size_bytes) == ("GPU0", 10 * GIB)
    assert cpu.shares[Share.WEIGHTS] == total - 10 * GIB


def test_a_rearranged_copy_of_mapped_weights_counts_once() -> None:
    facts = moe_facts()
    total = weight_bytes(facts)
    view = loaded_with(
        facts, BufferUse("CPU_Mapped", "model", total), BufferUse("CPU_REPACK", "model", 3 * GIB)
    )
    (cpu,) = measured_uses(view)
    assert cpu.size_bytes == total
    assert cpu.rearranged_bytes == 3 * GIB


def test_the_second_copy_of_a_tied_embedding_is_not_taken_from_the_mapped_rest() -> None:
    facts = moe_facts(is_tied=True)
    embedding = facts.bytes_outside_layers[TensorClass.TOKEN_EMBEDDING]
    on_gpu = weight_bytes(facts)  # all layers, and the copy in place of the embedding itself
    view = loaded_with(
        facts,
        BufferUse("CPU_Mapped", "model", embedding),
        BufferUse("CUDA0", "model", on_gpu),
        gpu_layers=49,
    )
    assert [use.size_bytes for use in measured_uses(view)] == [on_gpu, embedding]


def test_a_device_no_plan_knows_has_a_row_of_its_own() -> None:
    view = loaded_view()
    assert view.loaded is not None
    buffers = (*view.loaded.buffers, BufferUse("RPC0", "model", GIB))
    rows = texts_of(replace(view, loaded=replace(view.loaded, buffers=buffers)))
    assert rows["RPC0"] == {"measured": "1.0 GB"}


def test_an_engine_that_tells_no_devices_still_has_its_ram_measured() -> None:
    view = replace(loaded_with(moe_facts(), BufferUse("CPU", "compute", MIB)), hello=Hello("echo", "1"))
    assert [use.name for use in measured_uses(view)] == ["CPU"]
