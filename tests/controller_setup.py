"""The window's controllers over real sessions, for tests: what they told, and how to wait for it."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
from pytestqt.qtbot import QtBot

from app.chat.store import ConversationStore
from app.engine.packs import choose_engine
from app.engine.session import EngineSession
from app.engine.session_state import SessionEvent
from app.engine.spec import EngineSpec
from app.options import EngineOptions
from app.planner.facts import MemoryBudget
from app.ui.bridge import Bridge
from app.ui.controllers.chat_controller import ChatController
from app.ui.controllers.model_controller import ModelController
from app.ui.controllers.model_jobs import LIMITS, ModelPorts
from app.ui.controllers.preferences import Preferences
from app.ui.model_view import ModelPhase, ModelView
from app.ui.tasks import SerialTasks, Tasks
from app.ui.views.chat_items import MessageItem
from tests.builders import moe_model, write_gguf

GIB = 1024**3
BUDGET = MemoryBudget(ram_free_bytes=4 * GIB, performance_cores=2)
WAIT_MS = 20_000


def write_model(folder: Path, name: str = "模型 one.gguf") -> Path:
    """Write the header of a small MoE; the echo engine needs no more."""
    file = folder / name
    write_gguf(file, *moe_model("qwen3moe", layers=4, experts=16, used=4))
    return file


@dataclass
class Engine:
    """What sessions of the echo engine are told beside what the plan says.

    Attributes:
        overrides: `echo.*` options of the next load.
        loads: Options of every load there was.
    """

    overrides: tuple[tuple[str, float | str | bool], ...] = ()
    loads: list[EngineOptions] = field(default_factory=list)

    def make_session(self, spec: EngineSpec, listener: Callable[[SessionEvent], None]) -> EngineSession:
        engine = self

        class Session(EngineSession):
            def load(self, path: Path, options: EngineOptions) -> None:
                engine.loads.append(options)
                overrides = (*options.kv_overrides, *engine.overrides)
                super().load(path, replace(options, kv_overrides=overrides))

        return Session(spec, listener, limits=LIMITS)


class Desk:
    """A model controller, and all it told."""

    def __init__(
        self,
        qtbot: QtBot,
        engine_name: str | None = "echo",
        choose: Callable[[str | None, str | None], EngineSpec] = choose_engine,
        language: Callable[[], str] = lambda: "en",
    ) -> None:
        self.qtbot = qtbot
        self.engine = Engine()
        self.budgets = [BUDGET]
        self.bridge = Bridge()
        self.tasks = Tasks(self.bridge)
        ports = ModelPorts(
            fresh_budget=self._budget,
            choose=choose,
            make_session=self.engine.make_session,
            language=language,
        )
        self.model = ModelController(self.bridge, self.tasks, ports, engine_name)
        self.phases: list[ModelPhase] = []
        self.answer_events: list[object] = []
        self.model.view_changed.connect(self._on_view)
        self.model.answer_event.connect(self.answer_events.append)

    def _budget(self) -> MemoryBudget:
        return self.budgets.pop(0) if len(self.budgets) > 1 else self.budgets[0]

    def _on_view(self, view: ModelView) -> None:
        if not self.phases or self.phases[-1] is not view.phase:
            self.phases.append(view.phase)

    @property
    def view(self) -> ModelView:
        return self.model.view

    def wait(self, is_true: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(is_true, timeout=WAIT_MS)

    def wait_for_phase(self, phase: ModelPhase) -> None:
        self.wait(lambda: self.view.phase is phase)

    def load(self, path: Path) -> None:
        self.model.pick(path)
        self.wait_for_phase(ModelPhase.PLANNED)
        self.model.load()
        self.wait_for_phase(ModelPhase.READY)

    def close(self) -> None:
        self.model.close()
        self.tasks.close()


class ChatDesk(Desk):
    """A chat controller over it, and all it told."""

    def __init__(
        self,
        qtbot: QtBot,
        home: Path,
        open_store: Callable[[], ConversationStore] | None = None,
        engine_name: str | None = "echo",
        choose: Callable[[str | None, str | None], EngineSpec] = choose_engine,
    ) -> None:
        super().__init__(qtbot, engine_name, choose)
        home.mkdir(parents=True, exist_ok=True)
        self.file = home / "chats.sqlite3"
        self.store_tasks = SerialTasks(self.bridge, "chats")
        self.preferences = Preferences(home / "settings.json", self.store_tasks)
        opener = open_store or (lambda: ConversationStore(self.file))
        self.chat = ChatController(self.model, self.store_tasks, self.preferences, opener)
        self.items: dict[int, MessageItem] = {}
        self.streamed: dict[int, str] = {}
        self.hints: list[str] = []
        self.returned: list[str] = []
        self.queued: list[str | None] = []
        self.undos: list[Callable[[], None]] = []
        self.failures: list[object] = []
        self.titles: list[str | None] = []
        self.ids: list[int] = []
        self.chat.items_reset.connect(self._on_reset)
        self.chat.item_added.connect(self._on_item)
        self.chat.item_finished.connect(self._on_item)
        self.chat.item_removed.connect(lambda message_id: self.items.pop(message_id))
        self.chat.text_streamed.connect(self._on_text)
        self.chat.hint_given.connect(self.hints.append)
        self.chat.text_returned.connect(self.returned.append)
        self.chat.queue_changed.connect(self.queued.append)
        self.chat.undo_offered.connect(lambda key, undo: self.undos.append(undo))
        self.chat.store_failed.connect(self.failures.append)
        self.chat.conversations_changed.connect(self._on_listed)

    def _on_reset(self, items: tuple[MessageItem, ...]) -> None:
        self.items = {item.id: item for item in items}

    def _on_item(self, item: MessageItem) -> None:
        self.items[item.id] = item

    def _on_text(self, message_id: int, kind: object, text: str) -> None:
        self.streamed[message_id] = self.streamed.get(message_id, "") + text

    def _on_listed(self, summaries: tuple[object, ...]) -> None:
        self.titles = [getattr(summary, "title", None) for summary in summaries]
        self.ids = [getattr(summary, "id", 0) for summary in summaries]

    @property
    def shown(self) -> list[tuple[str, str]]:
        return [(item.role, item.text) for item in self.items.values()]

    @property
    def last(self) -> MessageItem:
        return list(self.items.values())[-1]

    def answered(self) -> None:
        """Wait until the model is ready again."""
        self.wait_for_phase(ModelPhase.READY)

    def ask(self, text: str) -> None:
        assert self.chat.send(text)
        self.answered()

    def saved(self) -> None:
        """Wait until what was given to the store's thread is done."""
        done: list[None] = []
        self.store_tasks.run_in_background(lambda: None, lambda _: done.append(None))
        self.wait(lambda: bool(done))

    def close(self) -> None:
        self.chat.close()
        super().close()


def workers() -> list[int]:
    """Return the processes this one started."""
    return [child.pid for child in psutil.Process().children(recursive=True)]


def kill_worker() -> None:
    """Kill the engine as the system would: at once and without a word."""
    psutil.Process(workers()[0]).kill()
