"""The widgets of the Models page in their states, for `gallery.py`."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from PySide6.QtWidgets import QWidget  # noqa: E402 the checkout is found first

from app.findings import FindingCode, error  # noqa: E402
from app.gguf.anatomy import anatomy_of  # noqa: E402
from app.gguf.facts import FileKind, ModelFacts  # noqa: E402
from app.gguf.metadata_rows import MetadataRow  # noqa: E402
from app.library.weights_memory import WeightsCheck  # noqa: E402
from app.planner.facts import MemoryBudget, Wishes  # noqa: E402
from app.planner.plan import plan_of_step, plan_offload  # noqa: E402
from app.ui.controllers.model_details_job import cache_figures  # noqa: E402
from app.ui.model_page_view import ModelPageView, Verdict, WeightsView  # noqa: E402
from app.ui.theme.look import LookSource  # noqa: E402
from app.ui.views.layer_card import LayerCard  # noqa: E402
from app.ui.views.library_facts import Fit, LibraryModel  # noqa: E402
from app.ui.views.model_details.details import SECTIONS, ModelDetails  # noqa: E402
from app.ui.views.model_details.facts import ModelDetailsFacts, TemplateFacts  # noqa: E402
from app.ui.views.model_details.tensor_rows import tensor_table  # noqa: E402
from app.ui.views.model_findings import ModelFindings  # noqa: E402
from app.ui.views.model_head import ModelHead  # noqa: E402
from app.ui.views.model_list import ModelList  # noqa: E402
from app.ui.views.model_state import ModelState  # noqa: E402
from app.ui.views.step_cards import StepCards  # noqa: E402
from app.ui.widgets.layouts import column, holder  # noqa: E402
from tests.planner_models import GIB, dense_facts, moe_facts, one_gpu, weight_bytes  # noqa: E402

_WIDE: Final = 1100
_NARROW: Final = 560
_LIST_SIZE: Final = (300, 620)
_MARGINS: Final = (20, 16, 20, 16)
_SAMPLE: Final = "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"


def model_sheets(looks: LookSource) -> Iterator[tuple[str, QWidget, tuple[int, int]]]:
    """Yield name, widget and size of each picture; a height of 0 is as high as it needs."""
    facts = _named(moe_facts(), "Qwen3-30B-A3B")
    views = {
        "moe": _view(facts, one_gpu(11 * GIB, 22 * GIB)),
        "disk": _view(facts, one_gpu(6 * GIB, 8 * GIB)),
        "dense": _view(_named(dense_facts(), "Llama-3.1-8B"), one_gpu(11 * GIB, 22 * GIB)),
    }
    for name, view in views.items():
        yield f"model_plan_{name}", _plan(looks, view), (_WIDE, 0)
    yield "model_plan_narrow", _plan(looks, views["moe"]), (_NARROW, 0)
    yield "model_weights", _weights(looks, views["moe"]), (_NARROW, 0)
    yield "model_states", _states(looks, facts), (_WIDE, 0)
    yield "model_rows", _list(looks), _LIST_SIZE
    for section in SECTIONS:
        details = ModelDetails(looks)
        details.show_model(_details(facts))
        details.show_section(section)
        yield f"model_details_{section}", _sheet(details), (_WIDE, 0)


def _sheet(*parts: QWidget) -> QWidget:
    return holder(column(*parts, gap=12, margins=_MARGINS), surface="window")


def _named(facts: ModelFacts, name: str) -> ModelFacts:
    path = Path("models") / f"{name}-Q4_K_M.gguf"
    return replace(
        facts,
        path=path,
        files=(path,),
        name=name,
        file_type="Q4_K_M",
        size_bytes=weight_bytes(facts),
        tensor_count=len(facts.tensors),
    )


def _view(facts: ModelFacts, budget: MemoryBudget) -> ModelPageView:
    plan = plan_offload(facts, budget, Wishes())
    return ModelPageView(
        path=facts.path,
        facts=facts,
        anatomy=anatomy_of(facts),
        budget=budget,
        findings=plan.findings,
        steps=plan.ladder,
        plans=tuple(plan_of_step(facts, budget, plan, step) for step in plan.ladder),
    )


def _plan(looks: LookSource, view: ModelPageView) -> QWidget:
    head, layers, steps = ModelHead(looks), LayerCard(looks), StepCards(looks)
    for part in (head, layers, steps):
        part.show_view(view)
    return _sheet(head, layers, steps)


def _weights(looks: LookSource, view: ModelPageView) -> QWidget:
    bad = error(
        FindingCode.WEIGHTS_NOT_FINITE, tensor="blk.3.ffn_down_exps.weight", type="Q4_K", count=2,
        checked=12_288, position=786_432, tensors=1,
    )  # fmt: skip
    states = (
        (WeightsView(is_sampling=True), Verdict.ASKING),
        (WeightsView(WeightsCheck()), Verdict.ACCEPTED),
        (WeightsView(WeightsCheck(), progress=0.41), Verdict.UNKNOWN),
        (WeightsView(WeightsCheck(is_full=True)), Verdict.NOT_ASKED),
        (WeightsView(WeightsCheck((bad,))), Verdict.REFUSED),
    )
    parts = []
    for weights, verdict in states:
        findings = ModelFindings(looks)
        findings.show_view(replace(view, weights=weights, verdict=verdict))
        parts.append(findings)
    return _sheet(*parts)


def _states(looks: LookSource, facts: ModelFacts) -> QWidget:
    broken = error(FindingCode.FILE_EMPTY, file=facts.path.name)
    closed = error(FindingCode.ACCESS_DENIED, path=str(facts.path))
    views = [ModelPageView(facts.path, is_checking=True)]
    views += [ModelPageView(facts.path, facts=facts, failure=failure) for failure in (broken, closed)]
    kinds = (FileKind.PROJECTOR, FileKind.EMBEDDING, FileKind.ADAPTER, FileKind.SPLIT_PART)
    views += [ModelPageView(facts.path, facts=replace(facts, kind=kind)) for kind in kinds]
    states = []
    for view in views:
        state = ModelState(looks)
        state.show_view(view)
        states.append(state)
    return _sheet(*states)


def _list(looks: LookSource) -> QWidget:
    names = ("DeepSeek-V3-0324-with-a-name-that-goes-on", *(f"Model {fit.value}" for fit in Fit), "Broken")
    models = [
        LibraryModel(Path(f"/m/{name}.gguf"), name, FileKind.MODEL, 17 * GIB, "Q4_K_M", is_moe=True)
        for name in names
    ]
    models[0] = replace(models[0], part_count=9)
    models[-1] = replace(models[-1], has_errors=True)
    models.append(LibraryModel(Path("/m/mmproj.gguf"), "mmproj", FileKind.PROJECTOR, GIB))
    models.append(replace(models[1], path=Path("/m/o.gguf"), name="qwen3:30b", program="ollama"))
    page = ModelList(looks)
    page.show_models(tuple(models), is_searching=False)
    page.show_fits({model.path: fit for model, fit in zip(models[1:], Fit, strict=False)})
    page.choose(models[1].path)
    return page


def _details(facts: ModelFacts) -> ModelDetailsFacts:
    rows = tuple(
        MetadataRow(f"general.key_{number}", "str", "value " * 12, None, number) for number in range(40)
    )
    return ModelDetailsFacts(
        facts,
        anatomy_of(facts),
        caches=cache_figures(facts),
        template=TemplateFacts(
            source="{% for message in messages %}...{% endfor %}",
            previews={"en": _SAMPLE, "zh_CN": _SAMPLE},
            special_tokens=("<|im_start|>", "<|im_end|>"),
            supports={"system": True, "tools": False, "thinking": None},
        ),
        metadata=rows,
        tensors=tensor_table(facts),
    )
