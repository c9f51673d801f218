"""What the conversation costs the GUI thread.

`python -m tests.bench.bench_chat_view`: opening 2,000 messages, and the stalls a person feels while an
answer comes at 200 tokens a second and the next message is typed. Exits 1 when a number is too high.
"""

import os
import time

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtCore import QMimeData, QTimer
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget

from app.chat.reasoning import PieceKind
from app.texts import Texts
from app.ui.model_view import ModelPhase, ModelView
from app.ui.theme.fonts import load_fonts
from app.ui.theme.look import Look, LookSource
from app.ui.theme.style_sheet import apply_look
from app.ui.theme.tokens import DARK
from app.ui.views.chat_items import MessageItem
from app.ui.views.chat_view import ChatView
from app.ui.views.composer import Composer
from tests.gui.chat_texts import FIGURES, conversation, long_answer

MESSAGES = 2_000
OPEN_MS_MAX = 300.0
STALL_P95_MS_MAX = 16.0
STALL_MAX_MS_MAX = 50.0
PASTE_MS_MAX = 400.0
TOKENS_PER_SECOND = 200
SECONDS = 20
HEARTBEAT_MS = 1
ANSWER_ID = MESSAGES + 2


class Heart:
    """Beats every millisecond; what lies between two beats is a stall."""

    def __init__(self) -> None:
        self.stalls_ms: list[float] = []
        self._last: float | None = None
        self._timer = QTimer(interval=HEARTBEAT_MS)
        self._timer.timeout.connect(self._beat)

    def start(self) -> None:
        """Begin to listen."""
        self._last = None
        self._timer.start()

    def stop(self) -> None:
        """Listen no more."""
        self._timer.stop()

    def _beat(self) -> None:
        now = time.perf_counter()
        if self._last is not None:
            self.stalls_ms.append((now - self._last) * 1000.0 - HEARTBEAT_MS)
        self._last = now


class Page(QWidget):
    """Conversation and composer, as in the window."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self.view, self.composer = ChatView(looks), Composer(looks)
        layout = QVBoxLayout(self)
        layout.addWidget(self.view, 1)
        layout.addWidget(self.composer)
        self.resize(800, 800)


def opening_ms(app: QApplication, page: Page) -> float:
    """Open a long conversation and wait until it is painted."""
    items = conversation(MESSAGES)
    began = time.perf_counter()
    page.view.show_items(items)
    app.processEvents()
    page.view.grab()
    return (time.perf_counter() - began) * 1000.0


def streaming(app: QApplication, page: Page) -> tuple[list[float], float]:
    """Stream and type for some seconds; return the stalls and the CPU share of this process."""
    view = page.view
    view.append_item(MessageItem(MESSAGES + 1, "user", "Write a lot."))
    view.append_item(MessageItem(ANSWER_ID, "assistant", "", is_streaming=True))
    page.composer.show_view(ModelView(phase=ModelPhase.GENERATING))
    tokens = list(long_answer(TOKENS_PER_SECOND * SECONDS))
    sent = 0
    heart = Heart()
    began, cpu = time.perf_counter(), time.process_time()
    typed_at = began
    heart.start()
    while sent < len(tokens):
        now = time.perf_counter()
        due = min(len(tokens), int((now - began) * TOKENS_PER_SECOND))
        for token in tokens[sent:due]:
            view.stream_text(ANSWER_ID, PieceKind.ANSWER, token)
        sent = max(sent, due)
        if now - typed_at > 0.12:
            page.composer.box.insertPlainText("w")
            typed_at = now
        app.processEvents()
        time.sleep(0.0005)
    share = (time.process_time() - cpu) / (time.perf_counter() - began)
    view.finish_item(
        MessageItem(ANSWER_ID, "assistant", "".join(tokens), finish_reason="stop", figures=FIGURES)
    )
    end = time.perf_counter() + 1.0
    while time.perf_counter() < end:
        app.processEvents()
        time.sleep(0.0005)
    heart.stop()
    return sorted(heart.stalls_ms), share


def paste_ms(app: QApplication, page: Page, text: str) -> float:
    """Paste into the box, and paint."""
    page.composer.set_text("")
    data = QMimeData()
    data.setText(text)
    began = time.perf_counter()
    page.composer.box.insertFromMimeData(data)
    app.processEvents()
    return (time.perf_counter() - began) * 1000.0


def main() -> None:
    """Print the costs; exit 1 when one is too high."""
    app = QApplication([])
    load_fonts()
    look = Look(DARK, Texts("en"))
    apply_look(app, look)
    page = Page(LookSource(look))
    page.show()
    page.view.show_items(conversation(10))
    app.processEvents()
    opened = opening_ms(app, page)
    stalls, share = streaming(app, page)
    p95, worst = stalls[int(0.95 * len(stalls))], stalls[-1]
    lines = paste_ms(app, page, "a line of forty characters, more or less\n" * 5_000)
    one_line = paste_ms(app, page, "word " * 40_000)
    print(f"open {MESSAGES} messages: {opened:.0f} ms")
    print(f"stalls: p95 {p95:.1f} ms, max {worst:.1f} ms; CPU {share:.0%} of one core")
    print(f"paste 200 kB: {lines:.0f} ms in lines, {one_line:.0f} ms in one line")
    is_slow = opened > OPEN_MS_MAX or p95 > STALL_P95_MS_MAX or worst > STALL_MAX_MS_MAX
    if is_slow or max(lines, one_line) > PASTE_MS_MAX:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
