"""`moxie inspect PATH`: what a model file holds and what is wrong with it."""

import argparse
import unicodedata
from collections.abc import Iterator
from dataclasses import replace

from app.cli.context import EXIT_OK, CliContext, UsageError
from app.cli.inspect_answer import Answer, answer_json, answer_of
from app.cli.inspect_weights import FULL, SAMPLE, weights_findings
from app.cli.inspected import inspect_argument
from app.cli.numbers import given_text
from app.cli.repair_hints import print_file_findings
from app.gguf.anatomy import anatomy_of
from app.gguf.facts import ModelFacts
from app.parsing.template_findings import with_template_checked
from app.texts import Texts


def add_arguments(parser: argparse.ArgumentParser, texts: Texts) -> None:
    """Declare what `inspect` takes."""
    parser.add_argument(
        "path", metavar="PATH", type=given_text(texts), help=texts.text("cli.inspect.path.help")
    )
    parser.add_argument("--json", action="store_true", help=texts.text("cli.json.help"))
    parser.add_argument("--recursive", action="store_true", help=texts.text("cli.inspect.recursive.help"))
    parser.add_argument(
        "--engine-check", action="store_true", help=texts.text("cli.inspect.engine_check.help")
    )
    parser.add_argument(
        "--weights",
        nargs="?",
        const=SAMPLE,
        choices=(SAMPLE, FULL),
        help=texts.text("cli.inspect.weights.help"),
    )


def run(args: argparse.Namespace, context: CliContext) -> int:
    """Print facts and findings. An existing file of any kind is no failure: `loadable` is the verdict."""
    if args.recursive:
        if args.weights:
            raise UsageError(context.texts.text("cli.inspect.weights.one_model"))
        from app.cli.inspect_folder import run_recursive  # only this option needs the library

        return run_recursive(args, context)
    checked = with_template_checked(inspect_argument(args.path, context.texts))
    answer = answer_of(checked.inspected, asks_engine=args.engine_check, template=checked.check)
    if args.weights:
        weights = weights_findings(answer.inspected.facts, args.weights, context)
        answer = replace(answer, findings=(*answer.findings, *weights))
    if args.json:
        context.print_json(answer_json(answer))
    else:
        _print_table(answer, asked=args.engine_check, context=context)
        print_file_findings(answer.findings, answer.inspected, context)
    return EXIT_OK


def _print_table(answer: Answer, *, asked: bool, context: CliContext) -> None:
    texts = context.texts
    facts = answer.inspected.facts
    rows = [*_identity_rows(facts, texts), *_model_rows(facts, texts)]
    rows.append(("cli.inspect.label.loadable", _yes_or_no(answer.inspected.loadable, texts)))
    if asked:
        rows.append(("cli.inspect.label.engine", _yes_or_no(answer.engine_accepts, texts)))
    labels = {key: texts.text(key) for key, _ in rows}
    width = max(_columns(label) for label in labels.values())
    context.print_line(str(facts.path))
    for key, value in rows:
        padding = " " * (width - _columns(labels[key]))
        context.print_line(f"  {labels[key]}{padding}  {value}")


def _identity_rows(facts: ModelFacts, texts: Texts) -> Iterator[tuple[str, str]]:
    if facts.name:
        yield "cli.inspect.label.name", facts.name
    yield "cli.inspect.label.kind", texts.text(f"word.{facts.kind.value}")
    if facts.architecture:
        yield "cli.inspect.label.architecture", facts.architecture
    files = len(facts.files) if len(facts.files) > 1 else None
    size = texts.text(
        "cli.inspect.size", size_bytes=facts.size_bytes, tensors=facts.tensor_count, files=files
    )
    yield "cli.inspect.label.size", size
    if facts.quantization_name:
        yield "cli.inspect.label.quantization", facts.quantization_name


def _model_rows(facts: ModelFacts, texts: Texts) -> Iterator[tuple[str, str]]:
    if facts.block_count is None:
        return
    key = "cli.inspect.layers_mtp" if facts.mtp_layers else "cli.inspect.layers"
    yield "cli.inspect.label.layers", texts.text(key, trunk=facts.trunk_layers, mtp=facts.mtp_layers)
    yield "cli.inspect.label.experts", _experts(facts, texts)
    if facts.is_moe:
        yield (
            "cli.inspect.label.expert_bytes",
            texts.text(
                "cli.inspect.expert_bytes", routed=facts.routed_expert_bytes, shared=facts.shared_expert_bytes
            ),
        )
    anatomy = anatomy_of(facts)
    if anatomy.active_parameter_count and anatomy.bytes_per_token:
        active, size = anatomy.active_parameter_count, anatomy.bytes_per_token
        per_token = texts.text("cli.inspect.per_token", parameters=active, size_bytes=size)
        yield "cli.inspect.label.per_token", per_token
    yield "cli.inspect.label.context", texts.text("cli.inspect.context", tokens=facts.context_length)
    yield "cli.inspect.label.attention", texts.text(f"word.{facts.attention.kind.value}")
    yield "cli.inspect.label.template", _yes_or_no(facts.has_chat_template, texts)


def _experts(facts: ModelFacts, texts: Texts) -> str:
    if not facts.is_moe:
        return texts.text("cli.inspect.no_experts")
    return texts.text(
        "cli.inspect.experts",
        experts=facts.expert_count,
        used=facts.expert_used_count,
        layers=len(facts.expert_layers),
    )


def _yes_or_no(claim: bool | None, texts: Texts) -> str:
    if claim is None:
        return texts.text("word.unknown")
    return texts.text("word.yes") if claim else texts.text("word.no")


def _columns(label: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in label)
