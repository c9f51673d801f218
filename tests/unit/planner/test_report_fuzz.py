"""Whatever a header says, there is a report: the planner never raises."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.findings import FindingCode, Severity
from app.gguf.describe import describe
from app.gguf.facts import FileKind
from app.gguf.inspect_file import InspectedFile, inspect_path
from app.gguf.reader import read_header
from app.planner.facts import MemoryBudget, Wishes
from app.planner.report import PLANNED_KINDS, report_of
from app.texts import Texts
from tests.builders import Keys, Tensor, Value, gguf_header, i32, moe_model, text, u32, u64, write_gguf
from tests.gguf_strategies import any_architecture_keys, any_tensors

MOE_KEYS, MOE_TENSORS = moe_model("qwen3moe", layers=3, experts=8, used=2)
BUDGETS = st.builds(
    MemoryBudget,
    ram_free_bytes=st.integers(0, 2**40),
    vram_free_bytes=st.lists(st.integers(0, 2**38), max_size=3).map(tuple),
    drives_display=st.lists(st.booleans(), max_size=3).map(tuple),
)
WISHES = st.builds(
    Wishes,
    moe=st.sampled_from(["auto", "off", "all", 0, 1, 2, 999]),
    n_ctx=st.sampled_from([None, 0, 1, 4096, 16_777_216]),
    kv_type=st.sampled_from([None, "f16", "q8_0", "q4_0"]),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changed=any_architecture_keys(), more=any_tensors(), is_sound=st.booleans(), budget=BUDGETS, wishes=WISHES
)
def test_any_header_has_a_report(
    tmp_path: Path,
    changed: Keys,
    more: list[Tensor],
    is_sound: bool,
    budget: MemoryBudget,
    wishes: Wishes,
) -> None:
    prefixed = {f"qwen3moe.{name}": value for name, value in changed.items()}
    keys = {**MOE_KEYS, **prefixed} if is_sound else {"general.architecture": text("qwen3moe"), **prefixed}
    file = tmp_path / "m.gguf"
    file.write_bytes(gguf_header(keys, [*(MOE_TENSORS if is_sound else []), *more])[0])
    _say_everything(report_of(inspect_path(file), budget, wishes))
    facts = describe([read_header(file)], [file])
    if facts.kind in PLANNED_KINDS:  # also what the header's verdict would have kept from the planner
        _say_everything(report_of(InspectedFile(facts, ()), budget, wishes))


def _say_everything(report: object) -> None:
    plan = getattr(report, "plan", None)
    for finding in plan.findings if plan else ():
        for language in ("en", "zh_CN"):
            assert Texts(language).finding_line(finding)
    if plan:
        assert all(size >= 0 for device in plan.devices for size in device.parts.values())
        assert plan.ram_bytes >= 0


@pytest.mark.parametrize(
    ("value", "severity", "told_before"),
    [
        (i32(-5), Severity.ERROR, [FindingCode.METADATA_TYPE_WRONG]),
        (u64(2**40), Severity.ERROR, [FindingCode.METADATA_TYPE_WRONG]),
        (u32(2**32 - 1), Severity.WARNING, []),
    ],
)
def test_an_impossible_context_is_no_value_and_a_finding(
    tmp_path: Path, value: Value, severity: Severity, told_before: list[FindingCode]
) -> None:
    keys, tensors = moe_model("qwen3moe", layers=2)
    inspected = inspect_path(
        write_gguf(tmp_path / "m.gguf", {**keys, "qwen3moe.context_length": value}, tensors)
    )
    *before, finding = inspected.findings
    assert [other.code for other in before] == told_before
    assert (finding.code, finding.severity) == (FindingCode.METADATA_INVALID, severity)
    assert finding.values["found"] == value.content
    assert inspected.facts.context_length is None
    assert inspected.facts.kind is FileKind.MODEL


@pytest.mark.parametrize("name", ["attention.head_count_kv", "embedding_length", "attention.sliding_window"])
def test_no_count_is_below_zero(tmp_path: Path, name: str) -> None:
    keys, tensors = moe_model("qwen3moe", layers=2)
    inspected = inspect_path(write_gguf(tmp_path / "m.gguf", {**keys, f"qwen3moe.{name}": i32(-1)}, tensors))
    codes = {finding.code for finding in inspected.findings if finding.values["key"] == f"qwen3moe.{name}"}
    assert codes >= {FindingCode.METADATA_TYPE_WRONG, FindingCode.METADATA_INVALID}
    assert not inspected.loadable
