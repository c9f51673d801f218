"""The one door from other threads into the GUI thread."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from app.engine.session_state import SessionEvent
from app.hardware.facts import Sample
from app.ui.news_queue import NewsQueue
from app.ui.news_queue import SessionNews as SessionNews

TOKEN_INTERVAL_MS: Final = 16
"""Between two deliveries of tokens: faster nobody sees them, and slower machines would do nothing else."""


@dataclass(frozen=True, slots=True)
class JobEnd:
    """A background job is over; `deliver` hands its result to whoever asked."""

    deliver: Callable[[], None]


class Bridge(QObject):
    """Carries facts across. Made in the GUI thread; its `post_*` methods are for any thread.

    Everything arrives later and in order, even what the GUI thread itself posts: nobody is called back
    in the middle of what they are doing. Tokens that come faster than every `TOKEN_INTERVAL_MS` are
    delivered together.

    Signals:
        session_event: a `SessionNews`.
        sample_taken: a `Sample`.
        job_ended: a `JobEnd`; the bridge itself delivers it.
    """

    session_event = Signal(object)
    sample_taken = Signal(object)
    job_ended = Signal(object)

    _session_posted = Signal()
    _sample_posted = Signal(object)
    _job_posted = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._news = NewsQueue()
        self._due: deque[SessionNews] = deque()
        self._tokens_due = QTimer(
            self, interval=TOKEN_INTERVAL_MS, singleShot=True, timerType=Qt.TimerType.PreciseTimer
        )
        self._tokens_due.timeout.connect(self._on_session_posted)
        later = Qt.ConnectionType.QueuedConnection
        self._session_posted.connect(self._on_session_posted, later)
        self._sample_posted.connect(self._on_sample_posted, later)
        self._job_posted.connect(self._on_job_posted, later)

    def post_session_event(self, session: int, event: SessionEvent) -> None:
        """Hand over what session number `session` told. Any thread."""
        if self._news.put(SessionNews(session, event)):
            self._session_posted.emit()

    def post_sample(self, sample: Sample) -> None:
        """Hand over a sample. Any thread."""
        self._sample_posted.emit(sample)

    def post_job_end(self, deliver: Callable[[], None]) -> None:
        """Have `deliver` called in the GUI thread. Any thread."""
        self._job_posted.emit(JobEnd(deliver))

    @Slot()
    def _on_session_posted(self) -> None:
        news, is_resting = self._news.take()
        if is_resting:
            self._tokens_due.start()
        self._due.extend(news)
        while self._due:  # also what a listener with an event loop of its own left here
            self.session_event.emit(self._due.popleft())

    @Slot(object)
    def _on_sample_posted(self, sample: Sample) -> None:
        self.sample_taken.emit(sample)

    @Slot(object)
    def _on_job_posted(self, end: JobEnd) -> None:
        self.job_ended.emit(end)
        end.deliver()
