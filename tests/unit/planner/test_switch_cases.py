"""Cases H08, H10 and H12 as an engine is told of them: the plan of a real header on a fake llama-server."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.engine.llama_server import LlamaServerBackend
from app.engine.protocol import Loaded, LoadModel
from app.findings import FindingCode, FindingError
from app.gguf.inspect_file import inspect_path
from app.options import EngineOptions
from app.planner.facts import OffloadPlan, Wishes
from app.planner.plan import plan_offload
from tests.builders import (
    Tensor,
    attention_tensors,
    dense_model,
    dense_tensors,
    expert_tensors,
    io_tensors,
    model_keys,
    u32,
    write_gguf,
)
from tests.fake_pack import FakePack, make_fake_pack
from tests.planner_models import GIB, one_gpu

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the fake engine is a POSIX script")

EXPERTS = {"expert_count": u32(16), "expert_used_count": u32(4)}
Load = Callable[[Path, EngineOptions], Loaded]


class Engine:
    """A backend on a fake pack."""

    def __init__(self, pack: FakePack) -> None:
        self.pack = pack
        self._backend = LlamaServerBackend(pack.folder)

    def load(self, model: Path, options: EngineOptions) -> Loaded:
        """Load; what ran before is ended."""
        self._backend.close()
        self._backend = LlamaServerBackend(self.pack.folder)
        return self._backend.load(LoadModel(str(model), options), lambda _: None, lambda: False)

    def close(self) -> None:
        """End what runs."""
        self._backend.close()

    @property
    def told(self) -> list[list[str]]:
        """The command line of every start."""
        return [start["argv"] for start in self.pack.starts()]


@pytest.fixture
def engine_of(tmp_path: Path) -> Any:
    """Make engines that play the given starts, and end them."""
    made: list[Engine] = []

    def make(starts: Sequence[dict[str, Any]] = ()) -> Engine:
        made.append(Engine(make_fake_pack(tmp_path / f"包 {len(made)}", starts)))
        return made[-1]

    yield make
    for engine in made:
        engine.close()


def value(told: Sequence[str], switch: str) -> str:
    return told[list(told).index(switch) + 1]


def plan_of(
    model: Path, moe: str | int = "auto", *, kv: str | None = None, vram: int = 8 * GIB
) -> OffloadPlan:
    return plan_offload(inspect_path(model).facts, one_gpu(vram), Wishes(moe=moe, kv_type=kv))


def codes(plan: OffloadPlan) -> list[FindingCode]:
    return [finding.code for finding in plan.findings]


@pytest.fixture
def mtp_model(tmp_path: Path) -> Path:
    """H08: four trunk layers, the first of them dense, and a block for the next token."""
    tensors = io_tensors() + attention_tensors(0) + dense_tensors(0)
    for block in range(1, 5):
        tensors += attention_tensors(block) + expert_tensors(block, 16)
    tensors.append(Tensor("blk.4.nextn.eh_proj.weight", (128, 64), "F16"))
    more = {**EXPERTS, "nextn_predict_layers": u32(1), "leading_dense_block_count": u32(1)}
    return write_gguf(tmp_path / "mtp.gguf", model_keys("glm4moe", more, layers=5), tensors)


@pytest.fixture
def fused_model(tmp_path: Path) -> Path:
    """H03, of case H12: fused gate and up experts, and shared ones."""
    tensors = io_tensors()
    for block in range(4):
        tensors += attention_tensors(block) + expert_tensors(block, 16, shared=True, fused=True)
    keys = model_keys("qwen35moe", {**EXPERTS, "expert_shared_count": u32(1)})
    return write_gguf(tmp_path / "fused_shexp.gguf", keys, tensors)


@pytest.fixture
def mla_model(tmp_path: Path) -> Path:
    """H09, of case H10: a latent cache, of which engines take equal types only."""
    return write_gguf(
        tmp_path / "mla.gguf",
        *dense_model(
            "deepseek2",
            attention__kv_lora_rank=u32(512),
            rope__dimension_count=u32(64),
            attention__key_length=u32(576),
            attention__value_length=u32(512),
            attention__key_length_mla=u32(192),
            attention__value_length_mla=u32(128),
            attention__head_count_kv=u32(1),
        ),
    )


def test_h08_all_layers_is_a_number_no_count_reaches_and_none_is_said_as_0(
    mtp_model: Path, engine_of: Any
) -> None:
    engine = engine_of()
    engine.load(mtp_model, plan_of(mtp_model).options)
    assert int(value(engine.told[0], "--n-gpu-layers")) >= 6
    engine.load(mtp_model, plan_of(mtp_model, vram=GIB).options)
    assert value(engine.told[1], "--n-gpu-layers") == "0"


def test_h08_all_experts_on_the_cpu_covers_the_extra_block_too(mtp_model: Path, engine_of: Any) -> None:
    engine = engine_of()
    engine.load(mtp_model, plan_of(mtp_model, 5).options)
    assert value(engine.told[0], "--n-cpu-moe") == "5"  # blocks 0 to 4
    engine.load(mtp_model, plan_of(mtp_model, "all").options)
    assert "--cpu-moe" in engine.told[1]
    engine.load(mtp_model, plan_of(mtp_model, 0).options)
    assert not {"--n-cpu-moe", "--cpu-moe"} & set(engine.told[2])


def test_h10_quantised_values_and_flash_attention_off_never_reach_the_engine(
    mla_model: Path, engine_of: Any
) -> None:
    engine = engine_of()
    options = plan_of(mla_model, kv="q8_0").options.to_json()
    off = EngineOptions.from_json({**options, "flash_attn": "off"})
    loaded = engine.load(mla_model, off)
    assert [f.code for f in loaded.findings] == [FindingCode.KV_TYPE_NEEDS_FLASH_ATTENTION]
    auto = engine.load(mla_model, EngineOptions.from_json(options))
    assert auto.findings == ()
    types = [(value(told, "--cache-type-k"), value(told, "--cache-type-v")) for told in engine.told]
    assert types == [("f16", "f16"), ("q8_0", "q8_0")]


def test_h10_a_model_that_refuses_is_tried_once_more_with_equal_types(
    mla_model: Path, engine_of: Any
) -> None:
    refusal = {"lines": ["llama_init: V cache quantization requires flash_attn"], "exit": 1}
    engine = engine_of([refusal, {}])
    engine.load(mla_model, plan_of(mla_model, kv="q8_0").options)
    assert len(engine.told) == 2
    for told in engine.told:
        assert value(told, "--cache-type-k") == value(told, "--cache-type-v")


def test_h10_there_is_no_endless_retry(mla_model: Path, engine_of: Any) -> None:
    engine = engine_of([{"lines": ["V cache quantization requires flash_attn"], "exit": 1}])
    with pytest.raises(FindingError):
        engine.load(mla_model, plan_of(mla_model, kv="q8_0").options)
    assert len(engine.told) == 2


def test_h12_the_four_positions_are_four_command_lines(fused_model: Path, engine_of: Any) -> None:
    engine = engine_of()
    ample = plan_of(fused_model)
    tight = ample.devices[0].planned_bytes + GIB - 300_000  # the reserve, less two blocks of experts
    plans = [plan_of(fused_model, wish) for wish in ("off", "all", 2)]
    plans.append(
        plan_offload(inspect_path(fused_model).facts, one_gpu(tight), Wishes(n_ctx=ample.options.n_ctx))
    )
    for plan in plans:
        engine.load(fused_model, plan.options)
    off, everything, two, auto = engine.told
    experts = {"--cpu-moe", "--n-cpu-moe", "--override-tensor"}
    assert not experts & set(off)
    assert experts & set(everything) == {"--cpu-moe"}
    assert value(two, "--n-cpu-moe") == "2"
    assert value(auto, "--n-cpu-moe") == str(plans[-1].options.n_cpu_moe)
    assert 2 < plans[-1].options.n_cpu_moe <= 4
    for told in engine.told:  # one owner of placement
        assert value(told, "--fit") == "off"
        assert value(told, "--n-gpu-layers") == "999"


def test_h12_a_dense_file_has_no_switch_and_too_many_layers_are_all_of_them(
    fused_model: Path, mla_model: Path, engine_of: Any
) -> None:
    engine = engine_of()
    dense = plan_of(mla_model, "all")
    assert FindingCode.MOE_NOT_APPLICABLE in codes(dense)
    engine.load(mla_model, dense.options)
    assert not {"--cpu-moe", "--n-cpu-moe"} & set(engine.told[0])
    many = plan_of(fused_model, 500)
    assert FindingCode.MOE_N_CLAMPED in codes(many)
    engine.load(fused_model, many.options)
    assert value(engine.told[1], "--n-cpu-moe") == "4"
