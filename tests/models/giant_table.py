"""Nineteen real MoE models: their sizes, and what engines print for them.

Sources: configuration classes of transformers 5.24.0, training scripts, llama.cpp's loaders; parameters and
weight bytes are what llama.cpp itself counts in a file of these shapes, and the parameters of the fifteen
models with a public log equal that log's to 0.01 billion.
"""

from dataclasses import dataclass, replace
from typing import Final

from tests.models.dimensions import Dimensions, Indexer, Latent, StateSpace, Streams


@dataclass(frozen=True, slots=True)
class Giant:
    """One real model.

    Attributes:
        leading_dense: Layers without experts before the first with.
        shared: Experts that every token uses, per layer.
        parameters: Elements of all weights.
        weight_bytes: Of all tensors, in the mix of types that `preset` makes.
        expert_bytes: Of all routed experts, with their biases.
        preset: `Q4_K_M`, or `MXFP4` for experts of 4-bit floats.
        attention: `AttentionKind` as a word.
    """

    name: str
    architecture: str
    dimensions: Dimensions
    leading_dense: int
    shared: int
    parameters: int
    weight_bytes: int
    expert_bytes: int
    attention: str = "gqa"
    preset: str = "Q4_K_M"


_QWEN: Final = 151_936
_OSS: Final = Dimensions(
    embedding=2880, heads=64, kv_heads=8, head_width=64, ffn_width=2880, expert_width=2880, used=4,
    tokens=201_088, context=131_072, rope_base=150_000.0,
)  # fmt: skip

GIANTS: Final = (
    Giant(
        "Mixtral-8x7B", "llama",
        Dimensions(layers=32, embedding=4096, heads=32, kv_heads=8, head_width=128, ffn_width=14_336,
                   tokens=32_000, context=32_768, rope_base=1e6),
        0, 0, 46_702_792_704, 28_313_509_888, 27_304_919_040,
    ),
    Giant(
        "Qwen1.5-MoE-A2.7B", "qwen2moe",
        Dimensions(layers=24, embedding=2048, heads=16, kv_heads=16, head_width=128, ffn_width=5632,
                   expert_width=1408, shared_width=5632, experts=60, used=4, tokens=_QWEN, context=8192,
                   rope_base=1e6),
        0, 1, 14_315_784_192, 9_490_282_496, 8_304_721_920,
    ),
    Giant(
        "Qwen2-57B-A14B", "qwen2moe",
        Dimensions(layers=28, embedding=3584, heads=28, kv_heads=4, head_width=128, ffn_width=18_944,
                   expert_width=2560, shared_width=20_480, experts=64, used=8, tokens=_QWEN,
                   context=32_768, rope_base=1e6),
        0, 1, 57_408_658_944, 34_847_314_432, 29_864_755_200,
    ),
    Giant(
        "Qwen3-30B-A3B", "qwen3moe",
        Dimensions(layers=48, embedding=2048, heads=32, kv_heads=4, head_width=128, ffn_width=6144,
                   expert_width=768, experts=128, used=8, tokens=_QWEN, context=40_960, rope_base=1e6,
                   epsilon=1e-6),
        0, 0, 30_532_122_624, 18_550_716_416, 17_553_162_240,
    ),
    Giant(
        "Qwen3-235B-A22B", "qwen3moe",
        Dimensions(layers=94, embedding=4096, heads=64, kv_heads=4, head_width=128, ffn_width=12_288,
                   expert_width=1536, experts=128, used=8, tokens=_QWEN, context=40_960, rope_base=1e6,
                   epsilon=1e-6),
        0, 0, 235_093_634_560, 142_148_069_376, 137_292_152_832,
    ),
    Giant(
        "Qwen3-Next-80B-A3B", "qwen3next",
        Dimensions(layers=48, embedding=2048, heads=16, kv_heads=2, head_width=256, ffn_width=5120,
                   expert_width=512, shared_width=512, experts=512, used=10, tokens=_QWEN,
                   context=262_144, rope_width=64, rope_base=1e7, epsilon=1e-6,
                   state_space=StateSpace(128, 16, 32)),
        0, 1, 79_674_391_296, 48_421_422_080, 46_808_432_640, "hybrid",
    ),
    Giant(
        "DeepSeek-V2-Lite", "deepseek2",
        Dimensions(layers=27, embedding=2048, heads=16, kv_heads=16, head_width=192, ffn_width=10_944,
                   expert_width=1408, experts=64, used=6, shared=2, tokens=102_400, context=163_840,
                   rope_width=64, latent=Latent(0, 512, 128, 128), has_expert_bias=False, gating=1,
                   normalizes=False),
        1, 2, 15_706_484_224, 10_367_473_664, 9_527_361_536, "mla",
    ),
    Giant(
        "DeepSeek-V3-R1", "deepseek2",
        Dimensions(layers=61, embedding=7168, heads=128, kv_heads=128, head_width=192, ffn_width=18_432,
                   expert_width=2048, experts=256, used=8, leading_dense=3, tokens=129_280,
                   context=163_840, rope_width=64, latent=Latent(1536, 512, 128, 128), scale=2.5),
        3, 1, 671_026_419_200, 404_553_728_000, 393_983_557_632, "mla",
    ),
    Giant(
        "DeepSeek-V4-Flash", "deepseek4",
        Dimensions(layers=43, embedding=4096, heads=64, kv_heads=1, head_width=512, ffn_width=2048,
                   expert_width=2048, experts=256, used=6, tokens=129_280, context=1_048_576,
                   rope_width=64, epsilon=1e-6, latent=Latent(q_rank=1024), indexer=Indexer(64, 128, 512),
                   streams=Streams(4, 20, 8, 1024, 3, (0, 0, *(4, 128) * 21))),
        0, 1, 284_334_567_511, 155_196_244_316, 147_169_738_752, "compressed", "MXFP4",
    ),
    Giant(
        "GLM-4.5-Air", "glm4moe",
        Dimensions(layers=46, mtp_layers=1, has_mtp_embedding=True, embedding=4096, heads=96, kv_heads=8,
                   head_width=128, ffn_width=10_944, expert_width=1408, experts=128, used=8,
                   tokens=151_552, context=131_072, rope_width=64, rope_base=1e6, has_qk_norm=False),
        1, 1, 110_468_824_832, 72_848_161_792, 67_637_346_304,
    ),
    Giant(
        "GLM-5.2", "glm-dsa",
        Dimensions(layers=78, mtp_layers=1, embedding=6144, heads=64, kv_heads=64, head_width=256,
                   ffn_width=12_288, expert_width=2048, experts=256, used=8, leading_dense=3,
                   tokens=154_880, context=1_048_576, rope_width=64, rope_base=1e6, scale=2.5,
                   latent=Latent(2048, 512, 192, 256), indexer=Indexer(32, 128, 2048)),
        3, 1, 753_864_139_008, 454_981_112_832, 443_019_165_696, "indexed-mla",
    ),
    Giant(
        "gpt-oss-20b", "gpt-oss", replace(_OSS, layers=24, experts=32),
        0, 0, 20_914_757_184, 12_096_558_336, 10_178_887_680, "sliding-window", "MXFP4",
    ),
    Giant(
        "gpt-oss-120b", "gpt-oss", replace(_OSS, layers=36, experts=128),
        0, 0, 116_829_156_672, 63_374_323_968, 61_073_326_080, "sliding-window", "MXFP4",
    ),
    Giant(
        "Llama-4-Scout", "llama4",
        Dimensions(layers=48, embedding=5120, heads=40, kv_heads=8, head_width=128, ffn_width=16_384,
                   expert_width=8192, experts=16, used=1, tokens=202_048, context=10_485_760,
                   rope_base=500_000.0),
        0, 1, 107_769_861_120, 65_346_798_080, 58_510_540_800, "sliding-window",
    ),
    Giant(
        "OLMoE-1B-7B", "olmoe",
        Dimensions(layers=16, embedding=2048, heads=16, kv_heads=16, head_width=128, ffn_width=1024,
                   experts=64, used=8, tokens=50_304, context=4096),
        0, 0, 6_919_161_856, 4_211_730_432, 3_900_702_720,
    ),
    Giant(
        "Granite-3.0-3B-A800M", "granitemoe",
        Dimensions(layers=32, embedding=1536, heads=24, kv_heads=8, head_width=64, ffn_width=512,
                   experts=40, used=8, tokens=49_155, context=4096, is_tied=True),
        0, 0, 3_298_793_472, 1_995_678_240, 1_828_454_400,
    ),
    Giant(
        "Phi-3.5-MoE", "phimoe",
        Dimensions(layers=32, embedding=4096, heads=32, kv_heads=8, head_width=128, ffn_width=6400,
                   experts=16, used=2, tokens=32_064, context=131_072),
        0, 0, 41_873_153_344, 25_345_236_224, 24_379_392_000,
    ),
    Giant(
        "Kimi-K2", "deepseek2",
        Dimensions(layers=61, embedding=7168, heads=64, kv_heads=64, head_width=192, ffn_width=18_432,
                   expert_width=2048, experts=384, used=8, tokens=163_840, context=131_072,
                   rope_width=64, latent=Latent(1536, 512, 128, 128), scale=2.827),
        1, 1, 1_026_408_232_448, 620_583_356_416, 612_907_352_064, "mla",
    ),
    Giant(
        "MiniMax-M2", "minimax-m2",
        Dimensions(layers=62, embedding=3072, heads=48, kv_heads=8, head_width=128, ffn_width=1536,
                   experts=256, used=8, tokens=200_064, context=196_608, rope_width=64, rope_base=5e6),
        0, 0, 228_689_764_864, 138_334_096_384, 135_725_580_288,
    ),
)  # fmt: skip
