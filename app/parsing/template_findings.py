"""What a checked chat template means for a model: findings, and what the engine is told instead."""

from dataclasses import dataclass, replace
from typing import Final

from app.findings import Finding, FindingCode, error, warning
from app.gguf.inspect_file import InspectedFile
from app.gguf.repair_facts import RightValue, ValueSource
from app.gguf.right_values import U32, overrides_of
from app.gguf.special_tokens import MARK, SpecialTokens, special_tokens
from app.parsing.template_check import LIMITS, TemplateCheck, TemplateFault, check_template

CHATML_TURN_END: Final = "<|im_end|>\n"


@dataclass(frozen=True, slots=True)
class CheckedTemplate:
    """A model whose chat template has been tried.

    Attributes:
        inspected: With the findings on the template, and with what the engine must be told because of it.
        check: None without a template, and when no verdict could be had.
    """

    inspected: InspectedFile
    check: TemplateCheck | None


def with_template_checked(inspected: InspectedFile) -> CheckedTemplate:
    """Try the chat template of a model, if it has one. Blocks: a process starts, and the vocabulary is read.

    A template that cannot be used is set aside (`ModelFacts.needs_chatml`), and a token that ends turns
    unknown to engines is named to them at load; both are findings.
    """
    facts = inspected.facts
    tokens = special_tokens(inspected.headers[0]) if inspected.headers else None
    if tokens is not None and tokens.twice is not None:
        inspected = _with_finding(inspected, error(FindingCode.VOCABULARY_DUPLICATE, line=tokens.twice))
    if facts.chat_template is None or tokens is None:
        return CheckedTemplate(inspected, None)
    check = check_template(facts.chat_template, tokens)
    if check is None:
        return CheckedTemplate(inspected, None)
    judged = replace(
        inspected,
        facts=replace(facts, needs_chatml=check.fault is not None),
        findings=(*inspected.findings, *_faults(check, facts.path.name)),
    )
    return CheckedTemplate(_with_turn_end(judged, check, tokens), check)


def _faults(check: TemplateCheck, file: str) -> tuple[Finding, ...]:
    match check.fault:
        case TemplateFault.BROKEN:
            code = FindingCode.CHAT_TEMPLATE_BROKEN
            return (warning(code, file=file, line=check.line, detail=check.detail),)
        case TemplateFault.LOOPS:
            return (
                warning(
                    FindingCode.CHAT_TEMPLATE_LOOPS,
                    file=file,
                    limit=check.detail,
                    seconds=LIMITS.cpu_seconds,
                    memory_bytes=LIMITS.memory_bytes,
                ),
            )
        case TemplateFault.RAISES:
            code = FindingCode.CHAT_TEMPLATE_RAISES
            case = None if check.case is None else f"template-{check.case.value}"
            return (warning(code, file=file, case=case, detail=check.detail),)
        case TemplateFault.DROPS_TEXT:
            return (warning(FindingCode.CHAT_TEMPLATE_DROPS_TEXT, file=file),)
    return ()


def _with_turn_end(inspected: InspectedFile, check: TemplateCheck, tokens: SpecialTokens) -> InspectedFile:
    """Return the model with what is wrong with the mark after an answer, and the cure where there is one.

    Some templates write nothing after the last answer: the mark that begins the next turn ends answers then.
    """
    own = MARK.match((CHATML_TURN_END if check.fault else check.turn_end or "").lstrip())
    mark = own or MARK.match((check.next_turn or "").lstrip())
    if mark is None:
        return inspected
    file = inspected.facts.path.name
    if mark[0] not in tokens.marks:
        unknown = warning(FindingCode.END_OF_TURN_UNKNOWN, file=file, token=mark[0])
        return _with_finding(inspected, unknown) if mark is own else inspected
    key = tokens.free_key
    if tokens.ends_answer(mark[0]) or any(right.key == key for right in inspected.right_values):
        return inspected
    number = tokens.marks[mark[0]]
    code = FindingCode.END_OF_TURN_MISSING
    right = RightValue(key, number, U32, ValueSource.TEMPLATE, (code,))
    rights = (*inspected.right_values, right)
    facts = replace(inspected.facts, kv_overrides=overrides_of(rights, inspected.choice))
    mended = replace(inspected, facts=facts, right_values=rights)
    if key in inspected.choice.off:  # the person knows, and wants it so
        return mended
    return _with_finding(mended, warning(code, file=file, token=mark[0], key=key, value=number))


def _with_finding(inspected: InspectedFile, finding: Finding) -> InspectedFile:
    return replace(inspected, findings=(*inspected.findings, finding))
