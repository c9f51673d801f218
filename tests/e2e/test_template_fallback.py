"""Real engines and models whose template or end of turn is broken: what was found before cures the chat."""

import shutil
from pathlib import Path

import pytest

from app.engine.blocking import BlockingEngine
from app.engine.dry_run import WORKER
from app.engine.protocol import ChatMessage, Failed, Finished, Token
from app.engine.spec import BackendKind, EngineSpec
from app.findings import FindingCode
from app.gguf.inspect_file import inspect_path
from app.gguf.special_tokens import EOS_ID
from app.options import EngineOptions, SamplingOptions
from app.parsing.template_findings import with_template_checked
from app.paths import resource_path

pytestmark = pytest.mark.engine

TINY = resource_path("selftest", "tiny-moe.gguf")
QUESTION = (ChatMessage("user", "What is the capital of France?"),)
SAMPLING = SamplingOptions(temperature=0.0, max_tokens=24)
HEADER_BYTES = 4 * 1024**2


@pytest.fixture(params=["worker", "pack"])
def spec(request: pytest.FixtureRequest, engine_pack: Path) -> EngineSpec:
    return WORKER if request.param == "worker" else EngineSpec("pack", BackendKind.LLAMA_SERVER, engine_pack)


def answer(spec: EngineSpec, model: Path, options: EngineOptions) -> tuple[str, Finished | Failed]:
    with BlockingEngine(spec) as engine:
        engine.load(model, options)
        *events, end = engine.generate(QUESTION, SAMPLING)
    assert isinstance(end, Finished | Failed)
    return "".join(event.text for event in events if isinstance(event, Token)), end


def options(*overrides: tuple[str, bool | int | float | str], chat_template: str = "auto") -> EngineOptions:
    return EngineOptions(
        n_ctx=512,
        n_threads=1,
        n_threads_batch=1,
        n_gpu_layers=0,
        kv_overrides=overrides,
        chat_template=chat_template,
    )


@pytest.fixture
def endless(exact_twin: Path, tmp_path: Path) -> Path:
    """Return a model whose end of turn neither a key nor the engine's list names."""
    model = tmp_path / "endless.gguf"
    shutil.copyfile(exact_twin, model)
    key = EOS_ID.encode() + b"\4\0\0\0"
    with model.open("r+b") as file:
        header = file.read(HEADER_BYTES).replace(b"<|im_end|>", b"<|it_done>")
        file.seek(0)
        file.write(header.replace(key + b"\2\0\0\0", key + b"\0\0\0\0"))
    return model


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Return a model whose template does not compile."""
    source = inspect_path(TINY).facts.chat_template
    assert source is not None
    old = source.encode()
    model = tmp_path / "broken.gguf"
    model.write_bytes(TINY.read_bytes().replace(old, b"{% for m in messages %}".ljust(len(old))))
    return model


def test_an_answer_ends_with_the_override_and_not_without(spec: EngineSpec, endless: Path) -> None:
    facts = with_template_checked(inspect_path(endless)).inspected.facts
    mended, end = answer(spec, endless, options(*facts.kv_overrides))
    assert isinstance(end, Finished)
    assert (mended, end.finish_reason) == ("The capital of France is Paris.", "stop")
    text, end = answer(spec, endless, options())
    assert text.startswith(mended)
    assert isinstance(end, Finished)
    assert end.finish_reason == "length"


def test_a_broken_template_is_found_before_and_chatml_answers(spec: EngineSpec, broken: Path) -> None:
    inspected = with_template_checked(inspect_path(broken)).inspected
    assert FindingCode.CHAT_TEMPLATE_BROKEN in [finding.code for finding in inspected.findings]
    assert inspected.facts.needs_chatml
    text, end = answer(spec, broken, options(chat_template="chatml"))
    assert isinstance(end, Finished), end
    assert text == answer(spec, TINY, options())[0]
