"""The self-test model in the repository is what its maker makes."""

from pathlib import Path

from app.gguf.reader import read_header
from app.paths import resource_path
from build_scripts.make_selftest_model import PHRASE, PIECES, make


def test_the_maker_makes_the_shipped_file_byte_for_byte(tmp_path: Path) -> None:
    make(tmp_path / "tiny-moe.gguf")
    assert (tmp_path / "tiny-moe.gguf").read_bytes() == resource_path(
        "selftest", "tiny-moe.gguf"
    ).read_bytes()


def test_the_pieces_make_up_the_phrase_and_none_comes_twice() -> None:
    assert b"".join(PIECES).decode("utf-8") == PHRASE
    assert len(set(PIECES)) == len(PIECES)


def test_it_is_a_mixture_of_experts_with_a_chat_template() -> None:
    header = read_header(resource_path("selftest", "tiny-moe.gguf"))
    assert header.file_size <= 1_500_000
    assert header.keys["qwen3moe.expert_count"] == 8
    assert header.keys["qwen3moe.expert_used_count"] == 2
    assert "<|im_start|>" in str(header.keys["tokenizer.chat_template"])
