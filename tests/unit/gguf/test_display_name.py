"""One name for one model, wherever it is shown; and the quantization as people call it."""

from pathlib import Path

import pytest

from app.gguf.describe import describe
from app.gguf.display_name import display_name, file_title
from app.gguf.file_types import FILE_TYPES, file_type_name, is_borne_out
from app.gguf.reader import read_header
from tests.builders import dense_model
from tests.gguf_bytes import Tensor, u32, write_gguf


@pytest.mark.parametrize(
    "name", ["Qwen3 30B A3B", "魔匣 1.5", "DeepSeek-R1-0528", "Llama 3.1 8B", "Model Zoo"]
)
def test_a_name_that_says_something_is_taken(name: str) -> None:
    assert display_name(name, "file-Q4_K_M") == name


@pytest.mark.parametrize(
    "name",
    [
        *(None, "", "  ", "model", "Models", "merged_2", "LLaMA v2", "llama", "tmp", "123"),
        *("/home/somebody/models/x", "C:\\models\\x", "9f86d081884c7d65", "x" * 201, "a\x00b", "---"),
    ],
)
def test_a_name_that_says_nothing_gives_way_to_the_file(name: str | None) -> None:
    assert display_name(name, "Mixtral-8x7B-Q4_K_M") == "Mixtral-8x7B"


def test_blanks_in_a_name_are_single() -> None:
    assert display_name(" Qwen3 \n 30B ", "file") == "Qwen3 30B"


def test_a_file_that_is_named_after_its_quantization_keeps_its_name() -> None:
    assert display_name(None, "Q4_K_M") == "Q4_K_M"


@pytest.mark.parametrize(
    ("file", "title"),
    [
        ("big-Q4_K_M-00001-of-00003.gguf", "big-Q4_K_M"),
        ("v1.5.gguf", "v1.5"),
        ("sha256-ab", "sha256-ab"),
    ],
)
def test_a_title_has_no_ending_and_no_number_of_a_part(file: str, title: str) -> None:
    assert file_title(Path(file)) == title


def test_file_types_are_those_of_the_engine() -> None:
    engine = pytest.importorskip("llama_cpp.llama_cpp")
    known = {
        number: key.removeprefix("LLAMA_FTYPE_").removeprefix("MOSTLY_").removeprefix("ALL_")
        for key, number in vars(engine).items()
        if key.startswith("LLAMA_FTYPE_") and not key.endswith("GUESSED")
    }
    assert known == FILE_TYPES


def test_a_guessed_file_type_is_one_all_the_same() -> None:
    assert file_type_name(1024 + 15) == "Q4_K_M"
    assert file_type_name(4) is None
    assert file_type_name(None) is None


@pytest.mark.parametrize(
    ("file_type", "types", "is_true"),
    [
        ("Q4_K_M", ("F32", "Q4_K", "Q6_K"), True),
        ("IQ3_M", ("IQ3_S",), True),
        ("MXFP4_MOE", ("MXFP4", "Q8_0"), True),
        ("Q4_K_M", ("Q8_0", "F32"), False),
        ("Q4_0", ("IQ4_NL",), False),
        ("BF16", ("F16",), False),
    ],
)
def test_a_file_type_is_believed_where_a_tensor_bears_it_out(
    file_type: str, types: tuple[str, ...], is_true: bool
) -> None:
    assert is_borne_out(file_type, types) is is_true


@pytest.mark.parametrize(("number", "shown"), [(1, "F16"), (15, "F16"), (99, "F16")])
def test_the_facts_name_what_the_tensors_bear_out(tmp_path: Path, number: int, shown: str) -> None:
    keys, tensors = dense_model()
    file = tmp_path / "m.gguf"
    write_gguf(file, {**keys, "general.file_type": u32(number)}, tensors)
    facts = describe([read_header(file)], [file])
    assert facts.file_type == file_type_name(number)
    assert facts.quantization_name == shown


def test_a_mixture_is_called_as_its_file_calls_it(tmp_path: Path) -> None:
    keys, _ = dense_model()
    file = tmp_path / "m.gguf"
    tensors = [Tensor("blk.0.attn_q.weight", (256, 8), "Q4_K"), Tensor("output.weight", (256, 64), "Q6_K")]
    write_gguf(file, {**keys, "general.file_type": u32(15)}, tensors)
    facts = describe([read_header(file)], [file])
    assert (facts.quantization, facts.quantization_name) == ("Q6_K", "Q4_K_M")
