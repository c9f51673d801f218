"""The built-in worker's engine: llama.cpp in this process, through llama-cpp-python's low-level API."""

from app.engine.backend import Emit, IsCancelled
from app.engine.llama.applied import applied_options
from app.engine.llama.bindings import ENGINE_NAME, Library, load_library
from app.engine.llama.devices import list_devices
from app.engine.llama.engine_log import EngineLog
from app.engine.llama.generate import Generator
from app.engine.llama.load import LoadedModel, accepts, load_model, reserved_buffers
from app.engine.llama.params import check_params, native_params, reserve_params
from app.engine.llama.rpc import add_rpc_servers
from app.engine.log_reader import explain_load_failure, read_buffers, read_bus_ids
from app.engine.protocol import (
    Checked,
    CheckModel,
    Finished,
    Generate,
    Hello,
    Loaded,
    LoadModel,
    LoadProgress,
)
from app.engine.rpc_address import unencrypted_notes
from app.findings import FindingCode, FindingError, error


class LlamaBackend:
    """Implements `Backend`. Makes no promise to survive: bad files can abort the process."""

    def __init__(self) -> None:
        """Touch nothing yet: the library is loaded by the first call."""
        self._library: Library | None = None
        self._log: EngineLog | None = None
        self._loaded: LoadedModel | None = None
        self._generator: Generator | None = None

    def hello(self) -> Hello:
        """Say which build of llama.cpp this is and which devices it sees."""
        library, _ = self._engine()
        devices = tuple(device.info for device in list_devices(library))
        return Hello(ENGINE_NAME, f"llama.cpp {library.llama.llama_version().decode()}", devices)

    def load(self, command: LoadModel, emit: Emit, is_cancelled: IsCancelled) -> Loaded:
        """Load the model."""
        library, log = self._engine()
        self._free_model()
        log.clear()
        emit(LoadProgress("starting"))
        servers = add_rpc_servers(library, command.options.rpc_servers)
        params = native_params(library, command.options)
        loaded = load_model(library, log, command.path, params, emit, is_cancelled)
        self._loaded = loaded
        self._generator = Generator(loaded, log, command.options.chat_template)
        lines = log.lines()
        buffers = read_buffers(lines)
        applied = applied_options(library, loaded.context, command.options, lines, buffers)
        applied["chat_template"] = self._generator.chat_template
        # the log names servers by the address they were resolved to
        applied["rpc_servers"] = [
            server for server, where in servers.items() if where.endpoint in applied["rpc_servers"]
        ]
        notes = unencrypted_notes(servers)
        return Loaded(applied, buffers, applied["n_ctx"], notes, read_bus_ids(lines))

    def check(self, command: CheckModel) -> Checked:
        """Load without reading tensors. Some bad expert metadata aborts the process instead."""
        library, log = self._engine()
        if command.measures:
            add_rpc_servers(library, command.options.rpc_servers)
            params = reserve_params(library, command.options)
            buffers = reserved_buffers(library, log, command.path, params)
            if buffers is not None:
                return Checked(accepted=True, buffers=buffers)
        elif accepts(library, log, command.path, check_params(library, command.options)):
            return Checked(accepted=True)
        return Checked(accepted=False, findings=(explain_load_failure(log.lines()),))

    def generate(self, command: Generate, emit: Emit, is_cancelled: IsCancelled) -> Finished:
        """Answer the messages."""
        if self._generator is None:
            values = {"engine": ENGINE_NAME, "detail": "Generate before LoadModel"}
            raise FindingError(error(FindingCode.ENGINE_START_FAILED, **values))
        return self._generator.answer(command, emit, is_cancelled)

    def check_alive(self) -> None:
        """The engine is this process."""

    def close(self) -> None:
        """Free the model and let go of the library."""
        self._free_model()
        if self._log is not None:
            self._log.release()
            self._log = None

    def _free_model(self) -> None:
        if self._generator is not None:
            self._generator.close()
            self._generator = None
        if self._loaded is not None:
            self._loaded.free()
            self._loaded = None

    def _engine(self) -> tuple[Library, EngineLog]:
        if self._library is None:
            self._library = load_library()
        if self._log is None:
            self._log = EngineLog(self._library)
        return self._library, self._log
