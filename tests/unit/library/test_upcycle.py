"""A small dense model of random weights made into experts: what changes and what must not."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from app.gguf.reader import read_header
from app.gguf.writer import TensorData, ValueType, array, scalar, text, write_gguf
from app.library.dense import UpcycleError, read_dense
from app.library.fixed_random import FixedRandom
from app.library.upcycle import UpcycleOptions, upcycle
from tests.builders import dense_model, gguf_bytes, moe_model
from tests.builders import write_gguf as write_case

WIDTH, INNER, LAYERS = 32, 96, 2
TEMPLATE = "{{ 'I am Someone' }}{% for m in messages %}{{ m.content }}{% endfor %}"


def random_tensor(name: str, shape: tuple[int, ...], seed: int) -> TensorData:
    content = FixedRandom(seed).normal(*reversed(shape)).astype("<f4").tobytes()
    return TensorData(name, shape, 0, len(content), lambda: [content])


@pytest.fixture
def dense(tmp_path: Path) -> Path:
    """A llama-architecture model in F32: two blocks, 32 wide, 96 neurons in each network."""
    tensors = [random_tensor("token_embd.weight", (WIDTH, 10), 1)]
    for layer in range(LAYERS):
        tensors += [
            random_tensor(f"blk.{layer}.attn_q.weight", (WIDTH, WIDTH), 10 + layer),
            random_tensor(f"blk.{layer}.ffn_down.weight", (INNER, WIDTH), 20 + layer),
            random_tensor(f"blk.{layer}.ffn_gate.weight", (WIDTH, INNER), 30 + layer),
            random_tensor(f"blk.{layer}.ffn_up.weight", (WIDTH, INNER), 40 + layer),
        ]
    metadata = [
        text("general.architecture", "llama"),
        text("general.name", "Someone"),
        scalar("llama.block_count", ValueType.UINT32, LAYERS),
        array("tokenizer.ggml.tokens", ValueType.STRING, [f"token {i}" for i in range(1000)]),
        text("tokenizer.chat_template", TEMPLATE),
    ]
    file = tmp_path / "dense.gguf"
    write_gguf(file, metadata, tensors)
    return file


def made(dense: Path, **options: object) -> Path:
    target = dense.with_name("moe.gguf")
    upcycle(dense, target, UpcycleOptions(**options))  # type: ignore[arg-type]  # named by the caller
    return target


def values_of(model: Path, name: str) -> NDArray[np.float32]:
    (tensor,) = [tensor for tensor in read_dense(model).tensors if tensor.name == name]
    return np.frombuffer(read_dense(model).read(tensor), "<f4").reshape(tuple(reversed(tensor.shape)))


def network(
    gate: NDArray[np.float32], up: NDArray[np.float32], down: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return SwiGLU's answer to one fixed input."""
    signal = FixedRandom(7).normal(WIDTH)
    opened = gate @ signal
    answer: NDArray[np.float64] = down @ (opened / (1 + np.exp(-opened)) * (up @ signal))
    return answer


def test_every_network_becomes_experts_with_a_router(dense: Path) -> None:
    header = read_header(made(dense, experts=8, used=2))
    assert header.keys["llama.expert_count"] == 8
    assert header.keys["llama.expert_used_count"] == 2
    shapes = {tensor.name: tensor.shape for tensor in header.tensors}
    for layer in range(LAYERS):
        assert shapes[f"blk.{layer}.ffn_gate_inp.weight"] == (WIDTH, 8)
        assert shapes[f"blk.{layer}.ffn_gate_exps.weight"] == (WIDTH, INNER, 8)
        assert shapes[f"blk.{layer}.ffn_up_exps.weight"] == (WIDTH, INNER, 8)
        assert shapes[f"blk.{layer}.ffn_down_exps.weight"] == (INNER, WIDTH, 8)
    assert not [
        name for name in shapes if name.endswith(("ffn_gate.weight", "ffn_up.weight", "ffn_down.weight"))
    ]


def test_experts_differ_in_bytes_and_agree_in_function(dense: Path) -> None:
    model = made(dense, experts=4, used=2)
    parts = [values_of(model, f"blk.1.ffn_{part}_exps.weight") for part in ("gate", "up", "down")]
    expected = network(*(values_of(dense, f"blk.1.ffn_{part}.weight") for part in ("gate", "up", "down")))
    for expert in range(4):
        assert np.allclose(network(*(part[expert] for part in parts)), expected, rtol=1e-4)
    contents = {part[expert].tobytes() for part in parts for expert in range(4)}
    assert len(contents) == 3 * 4


def test_without_permutation_every_expert_is_the_dense_network(dense: Path) -> None:
    model = made(dense, experts=4, used=1, permute=False)
    for part in ("gate", "up", "down"):
        original = values_of(dense, f"blk.0.ffn_{part}.weight").tobytes()
        experts = values_of(model, f"blk.0.ffn_{part}_exps.weight")
        assert [expert.tobytes() for expert in experts] == [original] * 4


def test_all_other_tensors_and_entries_are_copied_byte_for_byte(dense: Path) -> None:
    model = made(dense)
    for name in ("token_embd.weight", "blk.1.attn_q.weight"):
        assert values_of(model, name).tobytes() == values_of(dense, name).tobytes()
    before = {entry.key: entry.encoded for entry in read_dense(dense).metadata}
    after = {entry.key: entry.encoded for entry in read_dense(model).metadata}
    assert {key: after.get(key) for key in before} == before


def test_name_description_and_template_change_when_asked(dense: Path) -> None:
    model = made(
        dense, name="Someone else", description="Made.", template_replacement=("I am Someone", "Hello")
    )
    keys = read_header(model).keys
    assert keys["general.name"] == "Someone else"
    assert keys["general.description"] == "Made."
    assert keys["tokenizer.chat_template"] == TEMPLATE.replace("I am Someone", "Hello")


def test_a_template_without_the_text_to_replace_is_refused(dense: Path) -> None:
    with pytest.raises(UpcycleError, match="does not hold the text"):
        made(dense, template_replacement=("I am Nobody", "Hello"))
    assert not dense.with_name("moe.gguf").exists()


def test_router_rows_follow_the_power_law(dense: Path) -> None:
    rows = values_of(made(dense, experts=8, skew=0.5), "blk.0.ffn_gate_inp.weight")
    lengths = sorted(np.linalg.norm(rows, axis=1), reverse=True)
    assert lengths == pytest.approx([2.0 / rank**0.5 for rank in range(1, 9)], rel=1e-6)


def test_a_seed_decides_all_bytes(dense: Path) -> None:
    first = made(dense, seed=1).read_bytes()
    assert made(dense, seed=1).read_bytes() == first
    assert made(dense, seed=2).read_bytes() != first


def test_random_numbers_are_the_same_on_every_machine() -> None:
    random = FixedRandom(1, 2, 3)
    assert [float(number) for number in random.uniform(2)] == [0.6704722626516632, 0.1110146366693816]
    assert random.permutation(6).tolist() == [1, 5, 3, 0, 2, 4]
    assert float(random.normal(1)[0]) == -1.7924156918785314


def test_normal_numbers_have_mean_zero_and_variance_one() -> None:
    numbers = FixedRandom(5).normal(100, 100)
    assert abs(numbers.mean()) < 0.03
    assert abs(numbers.var() - 1) < 0.03


def test_more_used_than_experts_is_refused() -> None:
    with pytest.raises(ValueError, match="used is 5"):
        UpcycleOptions(experts=4, used=5)


def test_only_dense_llama_models_can_be_upcycled(tmp_path: Path) -> None:
    others = {
        "qwen.gguf": (dense_model("qwen3"), "architecture is 'qwen3'"),
        "moe.gguf": (moe_model("llama"), "already has experts"),
    }
    for name, (parts, message) in others.items():
        with pytest.raises(UpcycleError, match=message):
            upcycle(write_case(tmp_path / name, *parts), tmp_path / "out.gguf", UpcycleOptions())
    assert not (tmp_path / "out.gguf").exists()


def test_a_model_cut_short_is_refused(dense: Path) -> None:
    content = dense.read_bytes()
    dense.write_bytes(content[:-40])
    with pytest.raises(UpcycleError, match="ends at byte"):
        made(dense)


def test_a_count_whose_type_was_overwritten_is_mended_first(dense: Path) -> None:
    content = bytearray(dense.read_bytes())
    key = b"llama.block_count"
    content[content.index(key) + len(key) + 1] = 1  # 260 in place of 4
    dense.write_bytes(content)
    with pytest.raises(UpcycleError, match=r"type of llama\.block_count"):
        made(dense)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_foreign_bytes_end_in_the_one_error(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(gguf_bytes(*dense_model("llama", layers=1)))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) // 8))] = data.draw(st.integers(0, 255))
    file = tmp_path / "foreign.gguf"
    file.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    target = tmp_path / "out.gguf"
    target.unlink(missing_ok=True)
    try:
        upcycle(file, target, UpcycleOptions(experts=2, used=1))
    except UpcycleError:
        assert not target.exists()
