"""Judged facts as data: a code, how bad it is, and the numbers behind it. No prose."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Scalar = str | int | float | bool | None
FindingValue = Scalar | tuple[Scalar, ...]


class Severity(StrEnum):
    """How much a finding matters to the person."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class FindingCode(StrEnum):
    """Stable keys; each has a message and an action in every catalogue (`app/texts.py`)."""

    # the file (app/gguf)
    PATH_MISSING = "path-missing"
    ACCESS_DENIED = "access-denied"
    NOT_A_FILE = "not-a-file"
    FILE_EMPTY = "file-empty"
    NOT_GGUF = "not-gguf"
    HEADER_BROKEN = "header-broken"
    HEADER_UNREAD = "header-unread"
    FILE_INCOMPLETE = "file-incomplete"
    TRAILING_BYTES = "trailing-bytes"
    SHARD_MISSING = "shard-missing"
    SHARD_MISMATCH = "shard-mismatch"
    SHARD_NAME_INVALID = "shard-name-invalid"
    NOT_A_CHAT_MODEL = "not-a-chat-model"
    ARCHITECTURE_MISSING = "architecture-missing"
    TENSORS_MISSING = "tensors-missing"
    OLD_EXPERT_LAYOUT = "old-expert-layout"
    EXPERT_COUNT_MISSING = "expert-count-missing"
    EXPERT_COUNT_MISMATCH = "expert-count-mismatch"
    EXPERT_COUNT_INVALID = "expert-count-invalid"
    EXPERT_COUNT_UNEVEN = "expert-count-uneven"
    EXPERT_COUNT_TOO_LARGE = "expert-count-too-large"
    EXPERT_USED_COUNT_MISSING = "expert-used-count-missing"
    EXPERT_USED_COUNT_INVALID = "expert-used-count-invalid"
    EXPERT_TENSORS_MISSING = "expert-tensors-missing"
    BLOCK_COUNT_INVALID = "block-count-invalid"
    METADATA_DUPLICATE = "metadata-duplicate"
    METADATA_INVALID = "metadata-invalid"
    NUMBER_UNUSABLE = "number-unusable"
    TENSOR_INVALID = "tensor-invalid"
    QUANTIZATION_UNKNOWN = "quantization-unknown"
    ROUTER_QUANTIZED = "router-quantized"
    TOKENIZER_MISSING = "tokenizer-missing"
    CHAT_TEMPLATE_MISSING = "chat-template-missing"
    CHAT_TEMPLATE_BROKEN = "chat-template-broken"
    CHAT_TEMPLATE_LOOPS = "chat-template-loops"
    CHAT_TEMPLATE_RAISES = "chat-template-raises"
    CHAT_TEMPLATE_DROPS_TEXT = "chat-template-drops-text"
    END_OF_TURN_MISSING = "end-of-turn-missing"
    END_OF_TURN_UNKNOWN = "end-of-turn-unknown"
    FOLDER_AMBIGUOUS = "folder-ambiguous"
    FILE_LOCKED = "file-locked"
    FILE_IN_CLOUD = "file-in-cloud"
    DRIVE_GONE = "drive-gone"
    DOWNLOAD_UNFINISHED = "download-unfinished"
    VALUE_TYPE_OVERWRITTEN = "value-type-overwritten"
    METADATA_TYPE_WRONG = "metadata-type-wrong"
    METADATA_NOT_FINITE = "metadata-not-finite"
    METADATA_MISSING = "metadata-missing"
    METADATA_LENGTH_WRONG = "metadata-length-wrong"
    METADATA_PREFIX_MISMATCH = "metadata-prefix-mismatch"
    ARCHITECTURE_UNKNOWN = "architecture-unknown"
    ARCHITECTURE_TOO_NEW = "architecture-too-new"
    TOKENIZER_UNKNOWN = "tokenizer-unknown"
    PRE_TOKENIZER_MISSING = "pre-tokenizer-missing"
    PRE_TOKENIZER_UNKNOWN = "pre-tokenizer-unknown"
    PRE_TOKENIZER_TOO_NEW = "pre-tokenizer-too-new"
    VOCABULARY_MISMATCH = "vocabulary-mismatch"
    VOCABULARY_DUPLICATE = "vocabulary-duplicate"
    VOCABULARY_LOOKUP_FAILED = "vocabulary-lookup-failed"
    EXPERT_COUNTS_ABORT = "expert-counts-abort"
    BLOCK_COUNT_ABORTS = "block-count-aborts"
    NAME_BREAKS_LOADER = "name-breaks-loader"
    HEAD_COUNT_INVALID = "head-count-invalid"
    EXPERT_WIDTH_MISMATCH = "expert-width-mismatch"
    LAYOUT_MISMATCH = "layout-mismatch"
    PREDICTION_LAYERS_MISMATCH = "prediction-layers-mismatch"
    EXPERTS_ALL_USED = "experts-all-used"
    TENSOR_MISSING = "tensor-missing"
    TENSOR_SHAPE_MISMATCH = "tensor-shape-mismatch"
    TENSOR_BEYOND_FILE = "tensor-beyond-file"
    TENSOR_TYPE_REFUSED = "tensor-type-refused"
    TENSOR_COUNT_WRONG = "tensor-count-wrong"
    SHARD_REFUSED = "shard-refused"
    WEIGHTS_NOT_FINITE = "weights-not-finite"
    WEIGHTS_ALL_ZERO = "weights-all-zero"
    WEIGHTS_REFUSED = "weights-refused"
    WEIGHTS_UNREAD = "weights-unread"
    OVERRIDE_IN_FORCE = "override-in-force"
    OVERRIDE_CHOSEN = "override-chosen"
    OVERRIDE_OFF = "override-off"
    REPAIR_VALUE_NEEDED = "repair-value-needed"
    REPAIR_IMPOSSIBLE = "repair-impossible"
    REPAIR_TARGET_EXISTS = "repair-target-exists"
    REPAIR_NOT_VERIFIED = "repair-not-verified"

    # the machine (app/hardware)
    NVIDIA_DRIVER_MISSING = "nvidia-driver-missing"
    NVIDIA_DRIVER_FAILED = "nvidia-driver-failed"
    NVIDIA_CARD_WITHOUT_DRIVER = "nvidia-card-without-driver"
    GPU_NOT_FOUND = "gpu-not-found"
    GPU_LOST = "gpu-lost"
    GPU_ASLEEP = "gpu-asleep"
    GPU_HIDDEN = "gpu-hidden"
    GPU_UNSEEN_BY_ENGINE = "gpu-unseen-by-engine"
    GPU_MEMORY_DIFFERS = "gpu-memory-differs"
    GPU_INSTANCES = "gpu-instances"
    DRIVER_TOO_OLD = "driver-too-old"
    GPU_TOO_OLD_FOR_ENGINE = "gpu-too-old-for-engine"
    GPU_TOO_NEW_FOR_ENGINE = "gpu-too-new-for-engine"
    GFX_TARGET_MISSING = "gfx-target-missing"
    CUDA_LIBRARY_MISSING = "cuda-library-missing"
    VC_RUNTIME_MISSING = "vc-runtime-missing"
    VULKAN_LOADER_MISSING = "vulkan-loader-missing"
    ENGINE_BUILD_DEBUG = "engine-build-debug"
    ENGINE_FILES_GONE = "engine-files-gone"
    ENGINE_FLAVOUR_UNFIT = "engine-flavour-unfit"
    GPU_CHOICE_NOT_HONOURED = "gpu-choice-not-honoured"
    GPU_CHOICE_AMBIGUOUS = "gpu-choice-ambiguous"
    DISPLAY_GPU_FULL = "display-gpu-full"
    VRAM_SPILLED = "vram-spilled"
    VRAM_FULL_SLOW = "vram-full-slow"
    COMMIT_LIMIT_SMALL = "commit-limit-small"
    PAGE_FILE_NO_HELP = "page-file-no-help"
    MODEL_ON_HARD_DISK = "model-on-hard-disk"
    MODEL_ON_NETWORK = "model-on-network"
    MODEL_ON_REMOVABLE = "model-on-removable"
    MODEL_ON_CLOUD = "model-on-cloud"
    IN_VIRTUAL_MACHINE = "in-virtual-machine"
    IN_WSL = "in-wsl"
    IN_WINE = "in-wine"
    ON_BATTERY = "on-battery"
    CPU_INSTRUCTIONS_FALSE = "cpu-instructions-false"
    MODEL_DRIVE_SLOW = "model-drive-slow"
    DISK_NOT_MEASURED = "disk-not-measured"
    PROBE_TIMED_OUT = "probe-timed-out"
    PROBE_FAILED = "probe-failed"
    DISK_ALMOST_FULL = "disk-almost-full"
    RECORDING_INVALID = "recording-invalid"

    # the plan (app/planner)
    MODEL_EXCEEDS_MEMORY = "model-exceeds-memory"
    EXPERTS_ON_DISK = "experts-on-disk"
    EXPERTS_BELOW_CYCLE = "experts-below-cycle"
    VRAM_MARGIN_SMALL = "vram-margin-small"
    VRAM_EXCEEDED = "vram-exceeded"
    MOE_N_CLAMPED = "moe-n-clamped"
    GPU_LAYERS_REDUCED = "gpu-layers-reduced"
    MOE_N_FREES_NOTHING = "moe-n-frees-nothing"
    MOE_NOT_APPLICABLE = "moe-not-applicable"
    CONTEXT_REDUCED = "context-reduced"
    KV_TYPE_CHANGED = "kv-type-changed"
    NO_GPU_IN_PLAN = "no-gpu-in-plan"
    PLAN_WITHOUT_GPU = "plan-without-gpu"
    CONTEXT_BEYOND_MODEL = "context-beyond-model"
    LAYERS_IN_RAM = "layers-in-ram"
    PROMPT_ON_CPU = "prompt-on-cpu"
    GPU_SLOWER_THAN_CPU = "gpu-slower-than-cpu"
    MODEL_GARBLED_ON_WINDOWS = "model-garbled-on-windows"
    EXPERTS_ON_GPU_DOUBTFUL = "experts-on-gpu-doubtful"

    # the engine (app/engine)
    ENGINE_MISSING = "engine-missing"
    ENGINE_NOT_FOUND = "engine-not-found"
    ENGINE_START_FAILED = "engine-start-failed"
    ENGINE_DIED = "engine-died"
    ENGINE_KILLED = "engine-killed"
    ENGINE_ASSERT = "engine-assert"
    ENGINE_OUT_OF_RAM = "engine-out-of-ram"
    ENGINE_OUT_OF_VRAM = "engine-out-of-vram"
    ENGINE_MISSING_LIBRARY = "engine-missing-library"
    CPU_INSTRUCTIONS_MISSING = "cpu-instructions-missing"
    ENGINE_REJECTS_MODEL = "engine-rejects-model"
    ENGINE_TIMED_OUT = "engine-timed-out"
    ENGINE_DID_NOT_STOP = "engine-did-not-stop"
    ENGINE_REQUEST_FAILED = "engine-request-failed"
    ENGINE_GPU_UNSEEN = "engine-gpu-unseen"
    ENGINE_CHECK_UNAVAILABLE = "engine-check-unavailable"
    OPTION_UNSUPPORTED = "option-unsupported"
    EXTRA_FLAG_OWNED = "extra-flag-owned"
    EXTRA_FLAG_FORBIDDEN = "extra-flag-forbidden"
    EXTRA_FLAG_UNKNOWN = "extra-flag-unknown"
    OPTION_NOT_APPLIED = "option-not-applied"
    KV_TYPE_NEEDS_FLASH_ATTENTION = "kv-type-needs-flash-attention"
    LOAD_CANCELLED = "load-cancelled"
    PROMPT_TOO_LONG = "prompt-too-long"
    CHAT_TEMPLATE_FAILED = "chat-template-failed"
    PACK_INVALID = "pack-invalid"
    PACK_HASH_MISMATCH = "pack-hash-mismatch"
    PACK_WITHOUT_SERVER = "pack-without-server"
    PACK_NAME_TAKEN = "pack-name-taken"
    PACK_NAME_INVALID = "pack-name-invalid"
    PACK_SMOKE_FAILED = "pack-smoke-failed"
    RPC_ADDRESS_REFUSED = "rpc-address-refused"
    RPC_UNENCRYPTED = "rpc-unencrypted"
    RPC_UNREACHABLE = "rpc-unreachable"

    # chats and settings
    DISK_FULL = "disk-full"
    STORE_UNREADABLE = "store-unreadable"
    STORE_READ_ONLY = "store-read-only"
    STORE_BUSY = "store-busy"
    STORE_TOO_NEW = "store-too-new"
    SETTINGS_INVALID = "settings-invalid"
    SETTINGS_SET_ASIDE = "settings-set-aside"
    OUTPUT_FAILED = "output-failed"
    INSTALLATION_DAMAGED = "installation-damaged"
    DEFAULT_MODEL_MISSING = "default-model-missing"
    DEFAULT_MODEL_ENGLISH_ONLY = "default-model-english-only"
    DOWNLOAD_DAMAGED = "download-damaged"


@dataclass(frozen=True, slots=True)
class Finding:
    """One judged fact.

    Attributes:
        code: What was found; documented with its values in `docs/cli.md`.
        severity: `ERROR` stops what the person asked for; `WARNING` and `NOTE` do not.
        values: The numbers and names behind it, by name; bytes, seconds and counts stay numbers.
    """

    code: FindingCode
    severity: Severity
    values: Mapping[str, FindingValue] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the finding as the command line prints it."""
        return {"code": self.code.value, "severity": self.severity.value, "values": dict(self.values)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Finding":
        """Read back what `to_json` wrote.

        Raises:
            KeyError, ValueError: not such an object.
        """
        values = {
            name: tuple(value) if isinstance(value, list) else value for name, value in data["values"].items()
        }
        return cls(FindingCode(data["code"]), Severity(data["severity"]), values)


class FindingError(Exception):
    """An operation failed for a reason a person can be told."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(f"{finding.code}: {dict(finding.values)}")
        self.finding = finding


def error(code: FindingCode, **values: FindingValue) -> Finding:
    """Return a finding of severity `ERROR`."""
    return Finding(code, Severity.ERROR, values)


def warning(code: FindingCode, **values: FindingValue) -> Finding:
    """Return a finding of severity `WARNING`."""
    return Finding(code, Severity.WARNING, values)


def note(code: FindingCode, **values: FindingValue) -> Finding:
    """Return a finding of severity `NOTE`."""
    return Finding(code, Severity.NOTE, values)
