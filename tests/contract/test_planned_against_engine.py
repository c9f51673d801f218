"""What the planner expects of memory, against what the engine itself says it takes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.gguf.inspect_file import inspect_path
from app.planner.caches import Extent, cache_shape, cache_sizes
from app.planner.compute import Duty, device_compute_bytes, graph_shape

pytestmark = pytest.mark.engine

MIB = 1024**2

# llama.cpp's dry run: nothing is allocated, and the log names every buffer
DRY_RUN = r"""
import json, re, sys
from llama_cpp import llama_cpp as api
log = []
listen = api.llama_log_callback(lambda level, text, data: log.append(text.decode("utf-8", "replace")))
api.llama_log_set(listen, None)
api.llama_backend_init()
params = api.llama_model_default_params()
params.n_gpu_layers, params.no_alloc, params.load_mode, params.use_extra_bufts = 0, True, 0, False
model = api.llama_model_load_from_file(sys.argv[1].encode(), params)
answers = []
for n_ctx, n_ubatch, kv_type in json.loads(sys.argv[2]):
    log.clear()
    params = api.llama_context_default_params()
    params.n_ctx, params.n_ubatch, params.n_batch, params.swa_full = n_ctx, n_ubatch, 2048, False
    params.n_outputs_max = 1
    params.type_k = params.type_v = {"f16": 1, "q8_0": 8}[kv_type]
    api.llama_free(api.llama_init_from_model(model, params))
    text = "".join(log)
    caches = re.findall(r"size = +([0-9.]+) MiB \( *[0-9]+ cells", text)
    compute = re.findall(r"compute buffer size = +([0-9.]+) MiB", text)
    answers.append([sum(map(float, caches)), sum(map(float, compute))])
print(json.dumps(answers))
"""

EXTENTS = [
    Extent(2048, 128, "f16"),
    Extent(2048, 512, "f16"),
    Extent(8192, 128, "f16"),
    Extent(8192, 512, "f16"),
    Extent(8192, 512, "q8_0"),
]


def engine_says(model: Path) -> list[list[float]]:
    extents = json.dumps([[e.n_ctx, e.n_ubatch, e.kv_type] for e in EXTENTS])
    done = subprocess.run(
        [sys.executable, "-c", DRY_RUN, str(model), extents],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    answers: list[list[float]] = json.loads(done.stdout.splitlines()[-1])
    return answers


def test_caches_are_equal_and_compute_is_close(moe_model: Path) -> None:
    facts = inspect_path(moe_model).facts
    shape, graph = cache_shape(facts), graph_shape(facts)
    for extent, (cache_mib, compute_mib) in zip(EXTENTS, engine_says(moe_model), strict=True):
        assert sum(cache_sizes(shape, extent).kv) / MIB == pytest.approx(cache_mib, abs=0.02)
        planned = device_compute_bytes(graph, extent, Duty(is_cpu=True))
        assert 0.85 * compute_mib <= planned / MIB <= 1.15 * compute_mib
