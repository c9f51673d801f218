"""What the GPU and RAM bars show."""

from dataclasses import replace

from app.engine.protocol import BufferUse, Loaded
from app.hardware.facts import GpuSample, HostSample, Sample
from app.ui.model_view import ModelPhase
from app.ui.views.memory_figures import gpu_figures, ram_figures
from tests.gui.view_builders import (
    BUDGET,
    RAM_BYTES,
    VRAM_BYTES,
    model_view,
    sample_with_gpu,
    sample_without_gpu,
)
from tests.planner_models import GIB, MIB


def test_before_the_load_all_use_is_other_programs_and_the_plan_is_ours() -> None:
    view = model_view(ModelPhase.PLANNED)
    assert view.plan is not None
    gpu = gpu_figures(sample_with_gpu(600 * MIB), view)
    assert gpu is not None
    assert (gpu.total_bytes, gpu.other_bytes, gpu.ours_bytes) == (VRAM_BYTES, 600 * MIB, None)
    assert gpu.planned_bytes == view.plan.devices[0].planned_bytes
    ram = ram_figures(sample_with_gpu(), view)
    assert (ram.total_bytes, ram.other_bytes, ram.ours_bytes) == (RAM_BYTES, 9 * GIB, None)
    assert ram.planned_bytes == view.plan.ram_bytes


def test_while_loading_what_came_on_top_of_the_budget_is_ours() -> None:
    view = model_view(ModelPhase.LOADING)
    gpu = gpu_figures(sample_with_gpu(VRAM_BYTES - BUDGET.vram_free_bytes[0] + 4 * GIB), view)
    assert gpu is not None
    assert gpu.ours_bytes == 4 * GIB
    assert gpu.other_bytes == 600 * MIB


def test_loaded_memory_is_what_the_engine_says_it_took() -> None:
    view = model_view(ModelPhase.READY)
    buffers = (
        BufferUse("CUDA0", "model", 5 * GIB),
        BufferUse("CUDA_Host", "compute", GIB),
        BufferUse("RPC0", "model", 3 * GIB),
    )
    view = replace(view, loaded=Loaded({}, buffers))
    gpu, ram = gpu_figures(sample_with_gpu(6 * GIB), view), ram_figures(sample_with_gpu(), view)
    assert gpu is not None
    assert (gpu.other_bytes, gpu.ours_bytes) == (GIB, 5 * GIB)
    assert (ram.other_bytes, ram.ours_bytes) == (8 * GIB, GIB)


def test_mapped_weights_lie_in_memory_that_counts_as_available() -> None:
    view = model_view(ModelPhase.READY)
    mapped = Loaded({}, (BufferUse("CPU_Mapped", "model", 8 * GIB), BufferUse("CPU", "compute", GIB)))
    ram = ram_figures(sample_with_gpu(ram_used_bytes=9 * GIB), replace(view, loaded=mapped))
    assert (ram.other_bytes, ram.ours_bytes) == (8 * GIB, 9 * GIB)


def test_ours_never_goes_beyond_the_memory_there_is() -> None:
    view = model_view(ModelPhase.READY)
    huge = Loaded({}, (BufferUse("CPU", "model", 100 * GIB),))
    ram = ram_figures(sample_with_gpu(), replace(view, loaded=huge))
    assert ram.total_bytes is not None
    assert ram.other_bytes is not None
    assert ram.ours_bytes == ram.total_bytes - ram.other_bytes


def test_no_gpu_has_no_bar_and_an_unreadable_one_has_no_figures() -> None:
    view = model_view(ModelPhase.PLANNED)
    assert gpu_figures(sample_without_gpu(), view) is None
    unreadable = gpu_figures(Sample(0.0, HostSample(), (GpuSample(0),)), view)
    assert unreadable is not None
    assert (unreadable.total_bytes, unreadable.other_bytes) == (None, None)
    assert ram_figures(Sample(0.0, None), view).total_bytes is None
