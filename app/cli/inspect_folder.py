"""`moxie inspect --recursive FOLDER`: all models below a folder, each as soon as it is read."""

import argparse
from pathlib import Path

from app.cli.context import EXIT_OK, CliContext, UsageError
from app.cli.inspect_answer import Answer, answer_json, answer_of
from app.cli.repair_hints import print_file_findings
from app.files import PathKind, path_kind
from app.findings import FindingCode, FindingError, Severity, error
from app.gguf.inspect_file import inspect_path
from app.library.model_files import ModelFiles
from app.library.scan import inspect_folders


def run_recursive(args: argparse.Namespace, context: CliContext) -> int:
    """Print a line of JSON, or some lines of text, per model; folders that are closed go to standard error.

    Raises:
        UsageError: nothing is there.
        FindingError: the folder itself cannot be listed.
    """
    folder = Path(args.path).absolute()
    kind = path_kind(folder)
    if kind is None:
        finding = error(FindingCode.PATH_MISSING, path=str(folder))
        raise UsageError(context.texts.finding(finding).message)
    files = ModelFiles(lambda: False)
    is_folder = kind is PathKind.FOLDER
    found = refused = 0
    for inspected in inspect_folders(files, [folder]) if is_folder else [inspect_path(folder)]:
        answer = answer_of(inspected, asks_engine=args.engine_check)
        found += 1
        refused += not inspected.loadable
        if args.json:
            context.print_json_line(answer_json(answer))
        else:
            _print_model(answer, context)
    if not found and files.unreadable:
        raise FindingError(files.unreadable[0])
    context.print_findings(files.unreadable, to_err=True)
    if not args.json:
        context.say("cli.inspect.recursive.found", models=found, refused=refused, path=str(folder))
    return EXIT_OK


def _print_model(answer: Answer, context: CliContext) -> None:
    facts, texts = answer.inspected.facts, context.texts
    about = [texts.text(f"word.{facts.kind.value}"), facts.architecture, facts.quantization_name]
    about.append(texts.text("cli.inspect.recursive.size", size_bytes=facts.size_bytes))
    if facts.is_moe:
        about.append(texts.text("cli.inspect.recursive.experts", experts=facts.expert_count))
    context.print_line(str(facts.path))
    context.print_line(f"  {' · '.join(part for part in about if part)}")
    grave = [finding for finding in answer.findings if finding.severity is not Severity.NOTE]
    print_file_findings(grave, answer.inspected, context)
    context.out.flush()
