"""Work leaves the GUI thread and its results come back, in order, into the right thread."""

import threading
from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from app.engine.protocol import Token
from app.ui.bridge import Bridge, SessionNews
from app.ui.tasks import SerialTasks, Tasks

WAIT_MS = 5000


@pytest.fixture
def bridge(qtbot: QtBot) -> Bridge:
    return Bridge()


def test_a_job_runs_elsewhere_and_its_result_comes_here(bridge: Bridge, qtbot: QtBot) -> None:
    here = threading.current_thread()
    seen: list[threading.Thread] = []
    Tasks(bridge).run_in_background(
        threading.current_thread, lambda there: seen.extend((there, threading.current_thread()))
    )
    qtbot.waitUntil(lambda: bool(seen), timeout=WAIT_MS)
    assert seen[0] is not here
    assert seen[0].daemon
    assert seen[1] is here


def test_what_a_job_raises_goes_to_whoever_asked(bridge: Bridge, qtbot: QtBot) -> None:
    heard: list[Exception] = []
    Tasks(bridge).run_in_background(_fail, None, heard.append)
    qtbot.waitUntil(lambda: bool(heard), timeout=WAIT_MS)
    assert isinstance(heard[0], ZeroDivisionError)


def test_what_nobody_asked_about_is_raised_in_the_gui_thread(bridge: Bridge, qtbot: QtBot) -> None:
    with qtbot.captureExceptions() as heard:
        Tasks(bridge).run_in_background(_fail)
        qtbot.waitUntil(lambda: bool(heard), timeout=WAIT_MS)
    assert heard[0][0] is ZeroDivisionError


def test_a_job_that_hangs_holds_no_other_up(bridge: Bridge, qtbot: QtBot) -> None:
    release = threading.Event()
    tasks = Tasks(bridge)
    done: list[int] = []
    for _ in range(20):
        tasks.run_in_background(release.wait)
    tasks.run_in_background(lambda: 1, done.append)
    qtbot.waitUntil(lambda: bool(done), timeout=WAIT_MS)
    release.set()


def test_nothing_is_delivered_after_close_not_even_what_was_under_way(bridge: Bridge, qtbot: QtBot) -> None:
    tasks = Tasks(bridge)
    delivered: list[int] = []
    tasks.run_in_background(lambda: 1, delivered.append)
    for thread in _task_threads():
        thread.join()  # the result is on its way now
    tasks.close()
    tasks.run_in_background(lambda: 2, delivered.append)
    for thread in _task_threads():
        thread.join()
    other: list[int] = []
    Tasks(bridge).run_in_background(lambda: 3, other.append)
    qtbot.waitUntil(lambda: other == [3], timeout=WAIT_MS)
    assert delivered == []


def test_serial_jobs_run_one_after_the_other_in_one_thread(bridge: Bridge, qtbot: QtBot) -> None:
    tasks = SerialTasks(bridge, "one-writer")
    ran: list[int] = []
    told: list[int] = []

    def job(number: int) -> Callable[[], int]:
        def run() -> int:
            assert threading.current_thread().name == "one-writer"
            ran.append(number)
            return number

        return run

    for number in range(200):
        tasks.run_in_background(job(number), told.append)
    qtbot.waitUntil(lambda: len(told) == 200, timeout=WAIT_MS)
    assert ran == told == list(range(200))
    assert tasks.finish(5.0)


def test_finish_waits_for_what_was_given_and_takes_no_more(bridge: Bridge) -> None:
    tasks = SerialTasks(bridge, "one-writer")
    ran: list[int] = []
    for number in range(50):
        tasks.run_in_background(lambda number=number: ran.append(number))  # type: ignore[misc]
    assert tasks.finish(5.0)
    assert ran == list(range(50))
    tasks.run_in_background(lambda: ran.append(99))
    assert tasks.finish(0.1)
    assert 99 not in ran


def test_nothing_is_delivered_after_finish(bridge: Bridge, qtbot: QtBot) -> None:
    tasks = SerialTasks(bridge, "one-writer")
    tasks.run_in_background(lambda: 1, lambda _: pytest.fail("delivered"))
    assert tasks.finish(5.0)
    other: list[int] = []
    Tasks(bridge).run_in_background(lambda: 2, other.append)
    qtbot.waitUntil(lambda: other == [2], timeout=WAIT_MS)


def test_finish_says_when_a_job_hangs(bridge: Bridge) -> None:
    release = threading.Event()
    tasks = SerialTasks(bridge, "one-writer")
    tasks.run_in_background(release.wait)
    assert not tasks.finish(0.05)
    release.set()


def test_news_arrive_later_in_order_and_in_the_gui_thread(bridge: Bridge, qtbot: QtBot) -> None:
    heard: list[SessionNews] = []
    bridge.session_event.connect(heard.append)
    bridge.post_session_event(1, Token(1, "from here"))
    assert heard == []  # nobody is called back in the middle of what they are doing

    def post() -> None:
        for number in range(100):
            bridge.post_session_event(2, Token(number, "from there"))

    thread = threading.Thread(target=post)
    thread.start()
    qtbot.waitUntil(lambda: len(heard) == 101, timeout=WAIT_MS)
    thread.join()
    assert heard[0] == SessionNews(1, Token(1, "from here"))
    assert [news.event for news in heard[1:]] == [Token(number, "from there") for number in range(100)]


def _fail() -> float:
    return 1 / 0


def _task_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "tasks"]
