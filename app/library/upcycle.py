"""Makes a working mixture of experts out of a dense llama-architecture model, without training.

Each feed-forward network is copied into several experts as raw quantised bytes. Experts after the first
have their neurons in another order, so their bytes differ while their function is the same, and the
router's weights add up to 1: the result answers like the source, up to rounding. Router rows are random
directions of power-law length, so which experts a token uses depends on the token, and some are hot.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.gguf.writer import KeyValue, ProgressListener, TensorData, ValueType, scalar, text, write_gguf
from app.library.dense import DenseModel, DenseTensor, UpcycleError, read_dense
from app.library.fixed_random import FixedRandom

ARCHITECTURE: Final = "llama"
ROUTER_LENGTH: Final = 2.0
"""Length of the longest router row."""

F32: Final = 0
"""ggml type number."""

NETWORK_PART: Final = re.compile(r"blk\.(\d+)\.ffn_(gate|up|down)\.weight")
CHAT_TEMPLATE_KEY: Final = "tokenizer.chat_template"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpcycleOptions:
    """What to make of the source.

    Attributes:
        experts: Experts per layer.
        used: Experts per token. With 1 and `permute` off the logits equal the source's bit for bit.
        permute: Give every expert but the first another order of neurons.
        skew: Exponent of the power law of router rows; 0 makes all experts equally likely.
        name: What `general.name` becomes; None keeps it.
        description: What `general.description` becomes; None leaves it out.
        template_replacement: (old, new) text within the chat template.
    """

    experts: int = 8
    used: int = 2
    permute: bool = True
    skew: float = 0.5
    seed: int = 0
    name: str | None = None
    description: str | None = None
    template_replacement: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.used <= self.experts:
            raise ValueError(f"used is {self.used}, accepted: 1 to experts ({self.experts})")


def upcycle(
    source: Path, target: Path, options: UpcycleOptions, on_progress: ProgressListener | None = None
) -> None:
    """Write the mixture of experts; the same source and options give the same bytes.

    Raises:
        UpcycleError: `source` is not a dense llama-architecture GGUF file.
        FindingError: `DISK_FULL` or `STORE_READ_ONLY`; nothing is left behind.
        OSError: `source` cannot be read.
    """
    model = read_dense(source)
    _check(model)
    write_gguf(target, _metadata(model, options), list(_tensors(model, options)), on_progress)


def _check(model: DenseModel) -> None:
    architecture = model.values.get("general.architecture")
    if architecture != ARCHITECTURE:
        raise UpcycleError(f"architecture is {architecture!r}, only {ARCHITECTURE} can be upcycled")
    if f"{ARCHITECTURE}.expert_count" in model.values:
        raise UpcycleError("the model already has experts")


def _metadata(model: DenseModel, options: UpcycleOptions) -> list[KeyValue]:
    changed: dict[str, KeyValue] = {}
    if options.name is not None:
        changed["general.name"] = text("general.name", options.name)
    if options.description is not None:
        changed["general.description"] = text("general.description", options.description)
    template = model.values.get(CHAT_TEMPLATE_KEY)
    if options.template_replacement is not None and isinstance(template, str):
        old, new = options.template_replacement
        if old not in template:
            raise UpcycleError("the chat template does not hold the text to replace")
        changed[CHAT_TEMPLATE_KEY] = text(CHAT_TEMPLATE_KEY, template.replace(old, new))
    for key, number in (("expert_count", options.experts), ("expert_used_count", options.used)):
        changed[f"{ARCHITECTURE}.{key}"] = scalar(f"{ARCHITECTURE}.{key}", ValueType.UINT32, number)
    kept = [changed.pop(entry.key, entry) for entry in model.metadata]
    return [*kept, *changed.values()]


def _tensors(model: DenseModel, options: UpcycleOptions) -> Iterator[TensorData]:
    downs = {tensor.name: tensor for tensor in model.tensors if tensor.name.endswith(".ffn_down.weight")}
    for tensor in model.tensors:
        match = NETWORK_PART.fullmatch(tensor.name)
        if match is None:
            yield _copy(model, tensor)
            continue
        layer, part = int(match[1]), match[2]
        down = downs.get(f"blk.{layer}.ffn_down.weight")
        inner_dimension = 0 if part == "down" else 1
        if down is None or len(tensor.shape) != 2 or tensor.shape[inner_dimension] != down.shape[0]:
            raise UpcycleError(f"{tensor.name} has shape {tensor.shape} and no ffn_down to match")
        if part == "gate":
            yield _router(layer, tensor.shape[0], options)
        yield _experts(model, tensor, down, options, layer)


def _copy(model: DenseModel, tensor: DenseTensor) -> TensorData:
    return TensorData(
        tensor.name, tensor.shape, tensor.type_id, tensor.size_bytes, lambda: [model.read(tensor)]
    )


def _router(layer: int, width: int, options: UpcycleOptions) -> TensorData:
    random = FixedRandom(options.seed, layer)
    ranks = random.permutation(options.experts) + 1
    lengths = ROUTER_LENGTH * ranks.astype(np.float64) ** -options.skew
    rows = random.normal(options.experts, width)
    norms = np.sqrt(np.cumsum(rows**2, axis=1)[:, -1])  # cumsum adds in order, on every processor
    content = (rows * (lengths / norms)[:, None]).astype("<f4").tobytes()
    name = f"blk.{layer}.ffn_gate_inp.weight"
    return TensorData(name, (width, options.experts), F32, len(content), lambda: [content])


def _experts(
    model: DenseModel, tensor: DenseTensor, down: DenseTensor, options: UpcycleOptions, layer: int
) -> TensorData:
    def chunks() -> Iterable[bytes]:
        content = model.read(tensor)
        reordered = _reordering(tensor, down, content)
        yield content
        for expert in range(1, options.experts):
            yield reordered((options.seed, layer, expert)) if options.permute else content

    return TensorData(
        f"{tensor.name.removesuffix('.weight')}_exps.weight",
        (*tensor.shape, options.experts),
        tensor.type_id,
        tensor.size_bytes * options.experts,
        chunks,
    )


def _reordering(tensor: DenseTensor, down: DenseTensor, content: bytes) -> Callable[[tuple[int, ...]], bytes]:
    """Return a function seed -> the network part with its neurons in another order.

    Neurons move in groups of one quantisation block of the down matrix, whose columns they are; in the
    gate and up matrices they are whole rows.
    """
    groups = down.shape[0] // down.quant_type.block_elements
    matrix: NDArray[np.uint8] = np.frombuffer(content, np.uint8)
    cut = matrix.reshape(tensor.shape[1], groups, -1) if tensor is down else matrix.reshape(1, groups, -1)

    def reordered(seed: tuple[int, ...]) -> bytes:
        return cut[:, FixedRandom(*seed).permutation(groups)].tobytes()

    return reordered
