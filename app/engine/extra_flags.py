"""Words a person adds to a llama-server's command line: known to the build, and none of ours."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from app.engine.llama_server_capabilities import Capabilities
from app.findings import FindingCode, FindingError, error

OWNED: Final[Mapping[str, str]] = {
    "--ctx-size": "n_ctx",
    "--batch-size": "n_batch",
    "--ubatch-size": "n_ubatch",
    "--n-gpu-layers": "n_gpu_layers",
    "--cpu-moe": "moe",
    "--n-cpu-moe": "moe",
    "--override-tensor": "moe",
    "--fit": "moe",
    "--threads": "n_threads",
    "--threads-batch": "n_threads_batch",
    "--flash-attn": "flash_attn",
    "--cache-type-k": "kv_type",
    "--cache-type-v": "kv_type",
    "--swa-full": "swa_full",
    "--load-mode": "load_mode",
    "--mmap": "load_mode",
    "--no-mmap": "load_mode",
    "--mlock": "load_mode",
    "--repack": "repack",
    "--no-repack": "repack",
    "--op-offload": "op_offload",
    "--no-op-offload": "op_offload",
    "--check-tensors": "check_tensors",
    "--chat-template": "chat_template",
    "--device": "gpu",
    "--split-mode": "gpu",
    "--tensor-split": "gpu",
    "--main-gpu": "gpu",
    "--rpc": "gpu",
    "--model": "model",
}
"""What has a setting of its own, and which: two owners of one thing would quarrel."""

FORBIDDEN: Final = (
    *("--host", "--port", "--path", "--api-prefix", "--api-key", "--api-key-file", "--ssl-key-file"),
    *("--ssl-cert-file", "--model-url", "--docker-repo", "--hf-repo", "--hf-file", "--hf-token"),
    *("--hf-repo-draft", "--hf-repo-v", "--hf-file-v", "--mmproj-url", "--offline", "--log-file"),
    *("--log-disable", "--log-verbosity", "--verbosity", "--slot-save-path", "--media-path", "--props"),
    *("--models-dir", "--models-preset", "--tools", "--ui-mcp-proxy", "--webui-mcp-proxy", "--kv-unified"),
    *("--help", "--version", "--list-devices", "--completion-bash", "--cache-list", "--license"),
    *("--no-slots", "--slots", "--override-kv", "--parallel", "--embedding", "--reranking", "--jinja"),
    *("--reasoning-format", "--context-shift", "--no-context-shift", "--no-kv-offload", "--cache-ram"),
)
"""What would open the engine to others, use the network, write files, or break how Moxie talks to it."""

_SWITCH: Final = re.compile(r"--?[A-Za-z][\w.-]*")


def split_flags(text: str) -> tuple[str, ...]:
    """Return the words of a line, quotes as in shells; backslashes stay, since Windows paths have them.

    Raises:
        ValueError: a quote has no end.
    """
    words = shlex.shlex(text, posix=True, punctuation_chars=False)
    words.whitespace_split = True
    words.commenters = ""
    words.escape = ""
    return tuple(words)


def checked_flags(words: Sequence[str], capabilities: Capabilities) -> list[str]:
    """Return the words as arguments.

    Raises:
        FindingError: `EXTRA_FLAG_UNKNOWN`, `EXTRA_FLAG_OWNED` or `EXTRA_FLAG_FORBIDDEN` with the `flag`.
    """
    if words and not _SWITCH.fullmatch(words[0]):
        raise FindingError(error(FindingCode.EXTRA_FLAG_UNKNOWN, flag=words[0]))
    for word in words:
        if not _SWITCH.fullmatch(word):
            continue  # a value of the switch before it
        if capabilities.first_known(word) is None:
            raise FindingError(error(FindingCode.EXTRA_FLAG_UNKNOWN, flag=word))
        for name, option in OWNED.items():
            if _is_same(word, name, capabilities):
                raise FindingError(error(FindingCode.EXTRA_FLAG_OWNED, flag=word, option=option))
        if any(_is_same(word, name, capabilities) for name in FORBIDDEN):
            raise FindingError(error(FindingCode.EXTRA_FLAG_FORBIDDEN, flag=word))
    return list(words)


def _is_same(word: str, name: str, capabilities: Capabilities) -> bool:
    """Return whether a word is a switch, or another spelling of it: those share one description."""
    if word == name:
        return True
    described = capabilities.switches.get(name)
    return bool(described) and capabilities.switches.get(word) == described
