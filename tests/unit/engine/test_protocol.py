"""Messages survive the trip; anything else is a ProtocolError."""

import contextlib
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.protocol import (
    BufferUse,
    Cancel,
    ChatMessage,
    Checked,
    CheckModel,
    DeviceInfo,
    Failed,
    Finished,
    Generate,
    Hello,
    Loaded,
    LoadModel,
    LoadProgress,
    Message,
    PromptProgress,
    ProtocolError,
    Timings,
    Token,
    decode,
    encode,
)
from app.findings import FindingCode, error, warning
from app.options import EngineOptions, SamplingOptions

OPTIONS = EngineOptions(
    devices=("CUDA0",),
    tensor_split=(1.0, 2.0),
    kv_overrides=(("a.b", 8), ("c", True), ("d", "e")),
    n_cpu_moe=3,
)
MESSAGES: tuple[Message, ...] = (
    LoadModel("/模型/a b.gguf", OPTIONS),
    CheckModel("C:\\m.gguf", EngineOptions()),
    Generate(7, (ChatMessage("user", "a\nb\u2028c\x00 😀"),), SamplingOptions(stop=("x", "\n"), seed=0)),
    Cancel(),
    Hello("worker", "0.3.36", (DeviceInfo("RPC0", "127.0.0.1:1", "gpu", 1, 2),)),
    LoadProgress("weights", 0.5),
    Loaded(
        {"n_ctx": 4096, "type_k": "f16"},
        (BufferUse("CPU", "model", 9),),
        4096,
        (warning(FindingCode.OPTION_NOT_APPLIED, name="n_ctx", asked=1, applied=2),),
        {"CUDA0": "0000:18:00.0"},
    ),
    Checked(accepted=False, findings=(error(FindingCode.ENGINE_REJECTS_MODEL, reason="r"),)),
    PromptProgress(7, 1, 2),
    Token(7, "“你好” ", is_reasoning=True),
    Finished(7, "stop", Timings(1, 2.5, 3, 4.5, 0)),
    Failed(error(FindingCode.ENGINE_GPU_UNSEEN, seen_devices=("CPU", "X")), 7),
)
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_a_message_is_one_line_and_comes_back_equal(message: Message) -> None:
    line = encode(message)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert decode(line) == message


@given(st.text())
def test_any_text_fits_into_a_token(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    assert decode(encode(Token(1, text))) == Token(1, text)


@given(st.binary())
def test_a_path_of_any_bytes_comes_back_byte_for_byte(name: bytes) -> None:
    line = encode(LoadModel(os.fsdecode(name), OPTIONS))
    assert line.isascii()
    message = decode(line)
    assert isinstance(message, LoadModel)
    assert os.fsencode(message.path) == name


@given(st.binary())
def test_any_bytes_are_a_message_or_a_protocol_error(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode(line)


@given(st.sampled_from(MESSAGES), st.data())
def test_a_damaged_message_is_a_message_or_a_protocol_error(message: Message, data: st.DataObject) -> None:
    fields = json.loads(encode(message))
    name = data.draw(st.sampled_from(sorted(fields)))
    fields[name] = data.draw(ANY_JSON)
    with contextlib.suppress(ProtocolError):
        decode(json.dumps(fields).encode())
