"""What the tables of broken files say of the engine is what the engine does."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.models.broken import BROKEN_CASES, KILLERS, BrokenCase, EngineOutcome, write_broken

pytestmark = pytest.mark.engine

# the dry run of app/engine/llama, as bare as can be: nothing of ours stands between file and engine
LOAD_ALL = r"""
import json, sys
from llama_cpp import llama_cpp as api
listen = api.llama_log_callback(lambda level, text, data: None)
api.llama_log_set(listen, None)
api.llama_backend_init()
params = api.llama_model_default_params()
params.n_gpu_layers, params.no_alloc, params.load_mode = 0, True, 0
for name, path in json.loads(sys.stdin.read()).items():
    model = api.llama_model_load_from_file(path.encode(), params)
    print(json.dumps([name, bool(model)]), flush=True)
    if model:
        api.llama_model_free(model)
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    return write_broken(tmp_path_factory.mktemp("broken"))


def load_all(cases: Sequence[BrokenCase], files: Mapping[str, Path]) -> subprocess.CompletedProcess[str]:
    """Let one process load them one after the other."""
    return subprocess.run(
        [sys.executable, "-c", LOAD_ALL],
        input=json.dumps({case.name: str(files[case.name]) for case in cases}),
        env={**os.environ, "GGML_NO_BACKTRACE": "1"},  # else each abort waits for a debugger
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_each_case_is_taken_or_refused_as_its_table_says(broken: Mapping[str, Path]) -> None:
    alive = [case for case in BROKEN_CASES if case.engine_outcome is not EngineOutcome.ABORTS]
    done = load_all(alive, broken)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = dict(json.loads(line) for line in done.stdout.splitlines())
    assert answers == {case.name: case.engine_outcome is EngineOutcome.LOADS for case in alive}


@pytest.mark.parametrize("case", KILLERS, ids=lambda case: case.name)
def test_the_killers_kill(case: BrokenCase, broken: Mapping[str, Path]) -> None:
    done = load_all([case], broken)
    assert done.returncode != 0
    assert "GGML_ASSERT" in done.stderr
    assert done.stdout == ""
