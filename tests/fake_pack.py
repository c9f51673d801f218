"""An engine pack whose llama-server is a script that plays what a test wrote."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SOURCE: Final = Path(__file__).parent / "data" / "fake_llama_server.py"

HELP: Final = """\
-t,    --threads N                      threads for one token
-tb,   --threads-batch N                threads for a batch
-c,    --ctx-size N                     context
-b,    --batch-size N                   logical batch
-ub,   --ubatch-size N                  physical batch
--swa-full                              whole cache for windowed layers
-fa,   --flash-attn [on|off|auto]       flash attention, 'auto' by default
-nkvo, --no-kv-offload                  cache stays in RAM
-nr,   --no-repack                      leave weights as they lie
-ctk,  --cache-type-k TYPE              element type of K
                                        allowed values: f32, f16, bf16, q8_0, q4_0
-ctv,  --cache-type-v TYPE              element type of V
                                        allowed values: f32, f16, bf16, q8_0, q4_0
--rpc SERVERS                           RPC servers
-lm,   --load-mode MODE                 how weights get into memory
-dev,  --device LIST                    devices
-cmoe, --cpu-moe                        experts on the CPU
-ncmoe, --n-cpu-moe N                   experts of the first N layers on the CPU
-ot,   --override-tensor PATTERN=TYPE   where tensors go
-ngl,  --gpu-layers, --n-gpu-layers N   layers on GPUs
-sm,   --split-mode {none,layer,row}    how to split
-ts,   --tensor-split N0,N1             shares
-mg,   --main-gpu INDEX                 the GPU
-fit,  --fit [on|off]                   let the engine place things
--check-tensors                         look for invalid values
--chat-template JINJA_TEMPLATE          a template, or the name of a known one
--override-kv KEY=TYPE:VALUE,...        metadata, comma-separated
--no-op-offload                         batches stay on the CPU
-lv,   --verbosity, --log-verbosity N   - 3: info
                                        - 4: trace
-m,    --model FNAME                    model
-cram, --cache-ram N                    prompt cache, MiB
-np,   --parallel N                     slots
--host HOST                             address
--port PORT                             port
--no-ui, --no-webui                     no web page
--api-key-file FNAME                    keys
--jinja                                 templates
--top-nsigma N                          keep what is so near to the best
--reasoning-format FORMAT               reasoning
"""

QUESTIONS: Final = {
    "--help": HELP,
    "--version": "version: 9.9 (build 1, commit abc)",
    "--list-devices": "Available devices:\n  (none)",
}

ANSWER: Final = (
    'data: {"choices":[{"delta":{"content":null}}],"prompt_progress":{"total":9,"processed":9}}\n\n',
    'data: {"choices":[{"delta":{"reasoning_content":"hm"}}],"timings":{"predicted_n":1}}\n\n',
    'data: {"choices":[{"delta":{"content":"魔匣"}}],"timings":{"predicted_n":2}}\n\n',
    'data: {"choices":[{"finish_reason":"stop","delta":{}}],"timings":'
    '{"cache_n":1,"prompt_n":8,"prompt_ms":2.5,"predicted_n":2,"predicted_ms":4.0}}\n\n',
    "data: [DONE]\n\n",
)


@dataclass(frozen=True, slots=True)
class FakePack:
    """The pack's folder, and what its engine was told."""

    folder: Path

    def starts(self) -> list[dict[str, Any]]:
        """Return argv, env, cwd, pid, key and key_mode of every start, in order."""
        files = sorted((self.folder / "starts").glob("*.json"), key=lambda file: int(file.stem))
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]

    def request(self) -> dict[str, Any]:
        """Return the body of the last chat completion asked for."""
        body: dict[str, Any] = json.loads((self.folder / "request.json").read_bytes())
        return body


def make_fake_pack(
    folder: Path, starts: Sequence[Mapping[str, Any]] = (), questions: Mapping[str, str] = QUESTIONS
) -> FakePack:
    """Write a pack to `folder`; by default it starts well and answers `ANSWER`."""
    folder.mkdir(parents=True, exist_ok=True)
    script = SOURCE.read_text(encoding="utf-8")
    executable = folder / "llama-server"
    # sh first, then Python: a `#!` line could not hold a path with blanks
    start = f"#!/bin/sh\n'''exec' \"{sys.executable}\" -S \"$0\" \"$@\"\n' '''\n"
    executable.write_text(start + script, encoding="utf-8")
    executable.chmod(0o755)
    played = [{"answers": [{"chunks": ANSWER}], **start} for start in (starts or ({},))]
    scenario = {"starts": played, "questions": dict(questions)}
    (folder / "scenario.json").write_text(json.dumps(scenario), encoding="utf-8")
    return FakePack(folder)
