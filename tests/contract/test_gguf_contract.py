"""Our reader against the reference reader, and our type table against ggml's own."""

from pathlib import Path

import gguf
import pytest

from app.gguf.describe import describe
from app.gguf.quants import QUANT_TYPES
from app.gguf.reader import read_header
from tests.builders import moe_model as build_moe_model
from tests.builders import write_gguf


def test_the_reference_reader_sees_the_same_header(tmp_path: Path) -> None:
    keys, tensors = build_moe_model("deepseek2", leading_dense=1, shared=True, type_name="Q8_0")
    file = write_gguf(tmp_path / "m.gguf", keys, tensors)
    ours, theirs = read_header(file), gguf.GGUFReader(file)
    assert ours.data_offset == theirs.data_offset
    assert [
        (
            tensor.name,
            tensor.shape,
            tensor.type_name,
            tensor.offset_bytes + ours.data_offset,
            tensor.size_bytes,
        )
        for tensor in ours.tensors
    ] == [
        (
            tensor.name,
            tuple(int(n) for n in tensor.shape),
            tensor.tensor_type.name,
            tensor.data_offset,
            tensor.n_bytes,
        )
        for tensor in theirs.tensors
    ]
    for name in ("general.architecture", "deepseek2.expert_count", "tokenizer.chat_template"):
        assert ours.keys[name] == theirs.fields[name].contents()
    assert describe([ours], [file]).expert_count == theirs.fields["deepseek2.expert_count"].contents()


@pytest.mark.parametrize("quant", list(gguf.GGMLQuantizationType), ids=lambda quant: quant.name)
def test_block_sizes_are_those_of_the_reference(quant: gguf.GGMLQuantizationType) -> None:
    block_elements, block_bytes = gguf.GGML_QUANT_SIZES[quant]
    ours = QUANT_TYPES[quant.value]
    if quant.name == "Q8_1":  # the Python package says 40; ggml's own `ggml_type_size` says 36
        block_bytes = 36
    assert (ours.name, ours.block_elements, ours.block_bytes) == (quant.name, block_elements, block_bytes)


def test_the_tensors_of_the_default_model_end_where_its_file_ends(moe_model: Path) -> None:
    header = read_header(moe_model)
    last = header.tensors[-1]
    assert len(header.tensors) == 302
    assert last.size_bytes is not None
    assert header.data_offset + last.offset_bytes + last.size_bytes == moe_model.stat().st_size
