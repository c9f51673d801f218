"""Words added to a llama-server's command line: known to the build, and none of ours."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.effective_command import ADDED, KEPT, REMOVED, command_lines, line_changes
from app.engine.extra_flags import FORBIDDEN, OWNED, checked_flags, split_flags
from app.engine.llama_server_capabilities import Capabilities, parse_help, read_capabilities
from app.engine.spec import BackendKind, EngineSpec
from app.findings import FindingCode, FindingError
from app.options import EngineOptions
from tests.fake_pack import HELP

KNOWN = parse_help(HELP)


def refusal(words: tuple[str, ...], capabilities: Capabilities = KNOWN) -> FindingCode:
    with pytest.raises(FindingError) as caught:
        checked_flags(words, capabilities)
    return caught.value.finding.code


def test_a_known_flag_goes_through_with_its_value() -> None:
    assert checked_flags(("--top-nsigma", "-1.5"), KNOWN) == ["--top-nsigma", "-1.5"]
    assert checked_flags((), KNOWN) == []


@pytest.mark.parametrize("words", [("--no-such-flag",), ("value",), ("--top-nsigma", "1", "--nope")])
def test_what_the_build_does_not_know_is_refused(words: tuple[str, ...]) -> None:
    assert refusal(words) is FindingCode.EXTRA_FLAG_UNKNOWN


@pytest.mark.parametrize(
    ("word", "option"),
    [("-ngl", "n_gpu_layers"), ("--gpu-layers", "n_gpu_layers"), ("-c", "n_ctx"), ("-m", "model")],
)
def test_a_short_spelling_of_what_has_a_setting_is_refused_with_that_setting(word: str, option: str) -> None:
    with pytest.raises(FindingError) as caught:
        checked_flags((word, "1"), KNOWN)
    assert caught.value.finding.code is FindingCode.EXTRA_FLAG_OWNED
    assert caught.value.finding.values == {"flag": word, "option": option}


@pytest.mark.parametrize("word", ["--host", "--port", "--api-key-file", "-lv", "--verbosity"])
def test_what_would_open_the_engine_is_refused(word: str) -> None:
    assert refusal((word, "0.0.0.0")) is FindingCode.EXTRA_FLAG_FORBIDDEN


@pytest.mark.engine
def test_no_spelling_of_a_real_pack_gets_around_it(engine_pack: Path) -> None:
    capabilities = read_capabilities(engine_pack / "llama-server")
    ours = {
        "--host",
        "--port",
        "--model",
        "--api-key",
        "--log-file",
        "--n-gpu-layers",
        "--ctx-size",
        "--threads",
    }
    for name in ours:
        described = capabilities.switches[name]
        spellings = [word for word, said in capabilities.switches.items() if said == described]
        assert len(spellings) >= 1
        for word in spellings:
            refusal((word, "1"), capabilities)
    known = [name for name in (*OWNED, *FORBIDDEN) if name in capabilities.switches]
    assert len(known) > 50  # the lists speak of real switches


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ()),
        ("--a 1", ("--a", "1")),
        ("--a 'two words'", ("--a", "two words")),
        (r'--lora "C:\Users\me\a b.gguf"', ("--lora", r"C:\Users\me\a b.gguf")),
        ("--tag #1", ("--tag", "#1")),
    ],
)
def test_a_line_is_split_as_people_write_it(text: str, words: tuple[str, ...]) -> None:
    assert split_flags(text) == words


@given(st.text())
def test_any_line_is_words_or_a_quote_without_end(text: str) -> None:
    try:
        words = split_flags(text)
    except ValueError:
        return
    assert all(isinstance(word, str) for word in words)


@pytest.mark.engine
def test_a_packs_command_is_shown_a_switch_a_line(engine_pack: Path) -> None:
    pack = EngineSpec("pack", BackendKind.LLAMA_SERVER, engine_pack)
    lines = command_lines(pack, Path("/models/模型 one.gguf"), EngineOptions(n_ctx=4096))
    assert lines[:2] == ("llama-server", "--model '/models/模型 one.gguf'")
    assert "--ctx-size 4096" in lines


def test_the_built_in_engines_options_are_shown_by_name() -> None:
    lines = command_lines(EngineSpec("worker", BackendKind.LLAMA), Path("m.gguf"), EngineOptions(n_ctx=4096))
    assert "n_ctx = 4096" in lines
    assert "cpu_moe = false" in lines


def test_changes_keep_the_order_and_name_what_goes_first() -> None:
    changes = line_changes(("a", "b 1", "c"), ("a", "b 2", "c", "d"))
    assert changes == ((KEPT, "a"), (REMOVED, "b 1"), (ADDED, "b 2"), (KEPT, "c"), (ADDED, "d"))
