"""`moxie chat`: one answer to a prompt, or a conversation in the terminal."""

import argparse
import contextlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from app.chat.conversation import storable
from app.chat.marks import opener_in_template
from app.chat.recorder import ConversationRecorder
from app.chat.store import ConversationStore
from app.cli.chat_answer import Answerer
from app.cli.chat_report import ChatReport
from app.cli.chat_setup import ChatRequest, Launch, prepare
from app.cli.chat_terminal import talk
from app.cli.chat_view import ChatView
from app.cli.context import EXIT_FAILED, CliContext, UsageError
from app.cli.expert_options import add_expert_arguments, expert_wishes
from app.cli.gpu_option import add_gpu_argument
from app.cli.main import EXIT_INTERRUPTED
from app.cli.numbers import decimal_number, given_text, moe_wish, whole_number
from app.engine.blocking import BlockingEngine
from app.engine.protocol import Event, Hello
from app.engine.spec import BackendKind
from app.findings import FindingError, Severity
from app.options import KV_CACHE_TYPES, SamplingOptions
from app.paths import chats_file
from app.planner.facts import Wishes
from app.texts import Texts


def add_arguments(parser: argparse.ArgumentParser, texts: Texts) -> None:
    """Describe the options."""

    def words(name: str) -> str:
        return texts.text(f"cli.chat.{name}.help")

    parser.add_argument("path", metavar="PATH", nargs="?", type=given_text(texts), help=words("path"))
    parser.add_argument("--prompt", metavar="TEXT", help=words("prompt"))
    parser.add_argument("--system", metavar="TEXT", help=words("system"))
    parser.add_argument("--max-tokens", metavar="N", help=words("max_tokens"))
    parser.add_argument("--seed", metavar="N", help=words("seed"))
    parser.add_argument("--temperature", metavar="X", help=words("temperature"))
    parser.add_argument("--engine", metavar="NAME", type=given_text(texts), help=words("engine"))
    parser.add_argument("--moe", metavar="auto|off|all|N", default="auto", help=words("moe"))
    parser.add_argument("--context", metavar="N", help=words("context"))
    parser.add_argument("--kv", metavar="TYPE", choices=KV_CACHE_TYPES, help=words("kv"))
    parser.add_argument("--threads", metavar="N", help=words("threads"))
    add_gpu_argument(parser, texts)
    add_expert_arguments(parser, texts)
    parser.add_argument("--no-repack", action="store_true", help=words("no_repack"))
    parser.add_argument(
        "--rpc", metavar="HOST:PORT", type=given_text(texts), action="append", default=[], help=words("rpc")
    )
    parser.add_argument("--no-save", action="store_true", help=words("no_save"))
    parser.add_argument("--json", action="store_true", help=words("json"))


def run(args: argparse.Namespace, context: CliContext) -> int:
    """Chat, and print the JSON document however it ended."""
    request = _request(args, context.texts)
    report = ChatReport(context, is_json=args.json)
    try:
        status = _chat(request, report)
    except FindingError as reason:
        report.add([reason.finding])
        status = EXIT_FAILED
    except KeyboardInterrupt:
        status = EXIT_INTERRUPTED
    if args.json:
        context.print_json(report.to_json())
    return status


def _request(args: argparse.Namespace, texts: Texts) -> ChatRequest:
    if args.prompt is None and args.json:
        raise UsageError(texts.text("cli.chat.json_needs_prompt"))
    if args.prompt is not None and not args.prompt.strip():
        raise UsageError(texts.text("cli.chat.empty_prompt"))
    sampling = {
        "temperature": decimal_number("--temperature", args.temperature, "temperature", texts),
        "seed": whole_number("--seed", args.seed, "seed", texts),
        "max_tokens": whole_number("--max-tokens", args.max_tokens, "max_tokens", texts),
    }
    wishes = Wishes(
        moe=moe_wish(args.moe, texts),
        n_ctx=whole_number("--context", args.context, "n_ctx", texts),
        kv_type=args.kv,
        repack=False if args.no_repack else None,
        n_threads=whole_number("--threads", args.threads, "n_threads", texts),
        expert=expert_wishes(args, texts),
    )
    return ChatRequest(
        path=None if args.path is None else Path(args.path),
        prompt=None if args.prompt is None else storable(args.prompt),
        system=None if args.system is None else storable(args.system),
        sampling=SamplingOptions(**{k: v for k, v in sampling.items() if v is not None}),  # type: ignore[arg-type]  # by name
        wishes=wishes,
        engine=args.engine,
        rpc_servers=tuple(args.rpc),
        is_saved=not args.no_save,
        gpu=args.gpu,
    )


def _chat(request: ChatRequest, report: ChatReport) -> int:
    launch = prepare(request, report)
    if launch is None:
        return EXIT_FAILED
    view = ChatView(report.context, shows_answer=not report.is_json)
    view.plan(launch)
    with BlockingEngine(launch.spec) as engine, _store(request, report) as store:
        _load(engine, launch, report, view)
        answerer = Answerer(engine, request.sampling, report, view, request.system, _opener(launch))
        if report.hello is not None:
            answerer.on_timings = partial(launch.memory.keep_answer, launch.running(report.hello))
        if request.prompt is None:
            return talk(answerer, store)
        answerer.answer(ConversationRecorder(store), request.prompt)
        return answerer.exit_status


def _load(engine: BlockingEngine, launch: Launch, report: ChatReport, view: ChatView) -> None:
    report.engine, report.asked = launch.spec.name, launch.options

    def show(event: Event) -> None:
        if isinstance(event, Hello):
            report.hello = event
        view.loading(event)

    try:
        report.loaded = engine.load(launch.facts.path, launch.options, show)
    finally:
        view.clear_progress()
    if report.hello is not None:
        launch.memory.keep_load(launch.running(report.hello), report.loaded)
    report.add(report.loaded.findings)
    report.add(launch.seen.judge_load(report.hello, report.loaded))


@contextlib.contextmanager
def _store(request: ChatRequest, report: ChatReport) -> Iterator[ConversationStore | None]:
    """Open the store; a chat goes on without one, and says so."""
    store = None
    if request.is_saved:
        try:
            store = ConversationStore(chats_file())
            report.add(store.findings)
        except FindingError as reason:
            report.add([replace(reason.finding, severity=Severity.WARNING)])
    try:
        yield store
    finally:
        if store is not None:
            store.close()


def _opener(launch: Launch) -> str | None:
    """Return the reasoning tag the prompt ends with; the echo engine has no prompt."""
    has_prompt = launch.spec.backend is not BackendKind.ECHO
    return opener_in_template(launch.facts.prompt_template) if has_prompt else None
