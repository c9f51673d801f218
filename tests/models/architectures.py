"""The architectures test models are made of, by the name in the file."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tests.models import specs_latent, specs_mixed, specs_uniform
from tests.models.blueprint import Blueprint
from tests.models.dimensions import Dimensions

ARCHITECTURES: Mapping[str, Callable[[Dimensions], Blueprint]] = MappingProxyType(
    {
        "llama": specs_uniform.llama,
        "qwen2moe": specs_uniform.qwen2moe,
        "qwen3moe": specs_uniform.qwen3moe,
        "olmoe": specs_uniform.olmoe,
        "gpt-oss": specs_uniform.gpt_oss,
        "glm4moe": specs_mixed.glm4moe,
        "qwen3next": specs_mixed.qwen3next,
        "dbrx": specs_uniform.dbrx,
        "granitemoe": specs_uniform.granitemoe,
        "llama4": specs_mixed.llama4,
        "hunyuan-moe": specs_uniform.hunyuan,
        "ernie4_5-moe": specs_mixed.ernie,
        "minimax-m2": specs_uniform.minimax,
        "phimoe": specs_uniform.phimoe,
        "deepseek2": specs_latent.deepseek2,
        "glm-dsa": specs_latent.glm_dsa,
        "deepseek4": specs_latent.deepseek4,
    }
)
