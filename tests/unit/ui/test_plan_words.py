"""Why a plan is as it is, what its steps change, and what the window can do about findings."""

from dataclasses import replace

import pytest

from app.findings import FindingCode, note, warning
from app.options import EngineOptions
from app.planner.facts import MemoryBudget, Wishes
from app.planner.plan import plan_offload
from app.texts import LANGUAGES, Texts
from app.ui.model_view import ModelView
from app.ui.views.finding_actions import finding_actions, finding_wishes
from app.ui.views.plan_parts import device_parts
from app.ui.views.plan_words import chosen_step, plan_summary, step_changes
from app.ui.views.words import say
from app.ui.widgets.parts_facts import PartKind
from tests.plan_views import MODEL, loaded_view, planned_view, too_big_view
from tests.planner_models import GIB, dense_facts, one_gpu

ENGLISH = Texts("en")


def view_of(budget: MemoryBudget, wishes: Wishes | None = None, *, dense: bool = False) -> ModelView:
    """Return a planned view."""
    facts = dense_facts() if dense else MODEL
    plan = plan_offload(facts, budget, wishes or Wishes())
    return ModelView(facts=facts, plan=plan, budget=budget, wishes=wishes or Wishes())


CASES = {
    "All of it in VRAM": view_of(one_gpu(48 * GIB)),
    "Experts of 21 of 48 layers in RAM": view_of(one_gpu(12 * GIB)),
    "The processor runs it from RAM": view_of(MemoryBudget(64 * GIB)),
    "It does not fit": too_big_view(),
}


@pytest.mark.parametrize("title", CASES)
def test_the_plan_is_told_in_one_line_and_one_reason(title: str) -> None:
    summary = plan_summary(CASES[title])
    assert summary is not None
    assert say(ENGLISH, summary.title) == title
    for language in LANGUAGES:
        assert "—" not in say(Texts(language), summary.why), "a figure is missing"


def test_a_wish_is_told_from_a_choice_of_the_planner() -> None:
    summary = plan_summary(view_of(one_gpu(12 * GIB), Wishes(moe=30)))
    assert summary is not None
    assert say(ENGLISH, summary.title) == "Experts of 30 of 48 layers in RAM"
    assert say(ENGLISH, summary.why).startswith("As set by hand")


def test_layers_of_a_dense_model_on_the_processor_are_told() -> None:
    summary = plan_summary(view_of(one_gpu(4 * GIB), dense=True))
    assert summary is not None
    assert say(ENGLISH, summary.title).endswith("of 33 layers on the GPU")


def test_experts_on_disk_are_told() -> None:
    summary = plan_summary(view_of(one_gpu(8 * GIB, 6 * GIB)))
    assert summary is not None
    assert say(ENGLISH, summary.title).endswith("of experts stay on disk")


def test_a_card_with_too_little_room_is_not_said_to_be_missing() -> None:
    summary = plan_summary(view_of(one_gpu(1 * GIB)))
    assert summary is not None
    assert say(ENGLISH, summary.why).startswith("1.0 GB of VRAM are free, too little")


def test_steps_say_what_they_change_and_not_what_follows_from_it() -> None:
    plan = planned_view().plan
    assert plan is not None
    fast, safe, minimum = plan.ladder
    said = [say(ENGLISH, words) for words in step_changes(fast.options, safe.options, MODEL)]
    assert said == ["Layers with experts in RAM: 21 → 27"]
    said = [say(ENGLISH, words) for words in step_changes(fast.options, minimum.options, MODEL)]
    assert "Everything on the processor and in RAM" in said
    assert "Context: 8,192 → 2,048" in said
    assert len(said) == 3


def test_every_option_a_step_can_change_has_a_name() -> None:
    before = EngineOptions()
    after = replace(before, n_ctx=1, n_ubatch=1, n_gpu_layers=7, n_cpu_moe=3, type_k="q8_0", type_v="q8_0")
    for language in LANGUAGES:
        for words in step_changes(before, after, MODEL):
            assert say(Texts(language), words)


def test_the_step_that_is_loaded_is_the_chosen_one() -> None:
    view = loaded_view()
    assert view.plan is not None
    assert chosen_step(view) == view.plan.ladder[0]
    assert chosen_step(replace(view, asked=view.plan.ladder[1].options)) == view.plan.ladder[1]


def test_a_finding_is_mended_by_wishes() -> None:
    wishes = Wishes(moe=60, n_ctx=99_999)
    clamped = note(FindingCode.MOE_N_CLAMPED, asked=60, n_cpu_moe=48)
    assert finding_wishes(clamped, wishes) == replace(wishes, moe=48)
    beyond = note(FindingCode.CONTEXT_BEYOND_MODEL, asked=99_999, context_length=40_960)
    assert finding_wishes(beyond, wishes) == replace(wishes, n_ctx=40_960)
    applied = warning(FindingCode.OPTION_NOT_APPLIED, name="n_threads", asked=8, applied=4)
    assert finding_wishes(applied, wishes) == replace(wishes, n_threads=4)


def test_a_finding_no_wish_mends_has_no_button() -> None:
    findings = (
        note(FindingCode.NO_GPU_IN_PLAN, gpu_count=0),
        warning(FindingCode.OPTION_NOT_APPLIED, name="n_batch", asked=8, applied=4),
        note(FindingCode.VRAM_MARGIN_SMALL),  # already on auto
    )
    assert finding_actions(findings, Wishes()) == {}


def test_one_hopeless_finding_leaves_its_code_without_a_button() -> None:
    findings = (
        warning(FindingCode.OPTION_NOT_APPLIED, name="n_ctx", asked=8, applied=4),
        warning(FindingCode.OPTION_NOT_APPLIED, name="n_batch", asked=8, applied=4),
    )
    assert finding_actions(findings, Wishes()) == {}


def test_every_button_has_words_in_both_languages() -> None:
    findings = (
        note(FindingCode.MOE_NOT_APPLICABLE, asked="all"),
        note(FindingCode.CONTEXT_BEYOND_MODEL, asked=9, context_length=4),
        note(FindingCode.KV_TYPE_CHANGED, before="f16", kv_type="q8_0"),
        warning(FindingCode.OPTION_NOT_APPLIED, name="repack", asked=True, applied=False),
        warning(FindingCode.OPTION_UNSUPPORTED, name="n_ctx", value=3),
    )
    actions = finding_actions(findings, Wishes(moe="all", n_ctx=9))
    assert len(actions) == len(findings)
    assert finding_actions((note(FindingCode.MOE_N_CLAMPED, n_cpu_moe=4),), Wishes(moe=9))
    for language in LANGUAGES:
        assert all(say(Texts(language), words) for words in actions.values())


def test_the_parts_of_a_device_add_up() -> None:
    view = planned_view()
    assert view.plan is not None
    gpu, cpu = device_parts(view.plan, view.budget)
    used = sum(part.size_bytes for part in gpu.parts if part.kind is not PartKind.RESERVE)
    assert used == gpu.planned_bytes
    assert gpu.parts[-1].kind is PartKind.RESERVE
    assert gpu.parts[-1].size_bytes == GIB
    assert sum(part.size_bytes for part in cpu.parts) == cpu.planned_bytes


def test_a_device_that_needs_more_than_is_free_keeps_nothing_free() -> None:
    view = too_big_view()
    assert view.plan is not None
    gpu = device_parts(view.plan, view.budget)[0]
    assert gpu.total_bytes == gpu.planned_bytes > gpu.free_bytes
    assert all(part.kind is not PartKind.RESERVE for part in gpu.parts)
