"""Tokens that come faster than anybody can see are delivered together, and the window stays free."""

import threading
import time
from itertools import pairwise

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

from app.engine.protocol import Failed, Finished, Token
from app.findings import FindingCode, error
from app.ui.bridge import TOKEN_INTERVAL_MS, Bridge, SessionNews
from app.ui.news_queue import NewsQueue

WAIT_MS = 20_000
TOKENS = 100_000
TURN_SECONDS = 0.05
SLACK = 3


@pytest.fixture
def bridge(qtbot: QtBot) -> Bridge:
    return Bridge()


def test_a_flood_of_tokens_is_delivered_in_few_pieces_and_none_is_lost(bridge: Bridge, qtbot: QtBot) -> None:
    heard: list[SessionNews] = []
    beats: list[float] = []
    bridge.session_event.connect(heard.append)
    heart = QTimer(interval=1)
    heart.timeout.connect(lambda: beats.append(time.thread_time()))

    def post() -> None:
        for number in range(TOKENS):
            bridge.post_session_event(1, Token(1, f"{number} "))
        bridge.post_session_event(1, Finished(1, "stop"))

    heart.start()
    began = time.perf_counter()
    thread = threading.Thread(target=post)
    thread.start()
    qtbot.waitUntil(lambda: bool(heard) and isinstance(heard[-1].event, Finished), timeout=WAIT_MS)
    seconds = time.perf_counter() - began
    thread.join()
    tokens = [news.event for news in heard[:-1] if isinstance(news.event, Token)]
    assert len(tokens) == len(heard) - 1
    assert "".join(token.text for token in tokens) == "".join(f"{number} " for number in range(TOKENS))
    assert sum(token.token_count for token in tokens) == TOKENS
    assert len(tokens) <= seconds * 1000 / TOKEN_INTERVAL_MS + 3
    turns = [after - before for before, after in pairwise(beats)]
    assert max(turns, default=0.0) <= TURN_SECONDS * SLACK


def test_the_end_comes_at_once_and_after_the_last_token(bridge: Bridge, qtbot: QtBot) -> None:
    heard: list[SessionNews] = []
    bridge.session_event.connect(heard.append)
    bridge.post_session_event(1, Token(1, "a"))
    qtbot.waitUntil(lambda: len(heard) == 1, timeout=WAIT_MS)
    bridge.post_session_event(1, Token(1, "b"))
    bridge.post_session_event(1, Failed(error(FindingCode.FILE_EMPTY, file="x"), 1))
    qtbot.waitUntil(lambda: len(heard) == 3, timeout=WAIT_MS)
    assert isinstance(heard[1].event, Token) and heard[1].event.text == "b"
    assert isinstance(heard[2].event, Failed)


def test_only_neighbours_of_one_answer_and_kind_become_one() -> None:
    queue = NewsQueue()
    posted = [
        SessionNews(1, Token(1, "a", is_reasoning=True)),
        SessionNews(1, Token(1, "b", is_reasoning=True, token_count=2)),
        SessionNews(1, Token(1, "c")),
        SessionNews(1, Token(2, "d")),
        SessionNews(2, Token(2, "e")),
        SessionNews(2, Finished(2, "stop")),
        SessionNews(2, Token(2, "f")),
    ]
    woken = [queue.put(news) for news in posted]
    assert woken == [True, *[False] * 6]
    news, is_resting = queue.take()
    assert news == [SessionNews(1, Token(1, "ab", is_reasoning=True, token_count=3)), *posted[2:]]
    assert is_resting


def test_after_tokens_only_other_news_wake() -> None:
    queue = NewsQueue()
    queue.put(SessionNews(1, Token(1, "a")))
    queue.take()
    assert not queue.put(SessionNews(1, Token(1, "b")))
    assert queue.put(SessionNews(1, Finished(1, "stop")))
    queue.take()
    assert queue.take() == ([], False)
    assert queue.put(SessionNews(1, Token(2, "c")))


def test_a_listener_with_an_event_loop_of_its_own_keeps_the_order(bridge: Bridge, qtbot: QtBot) -> None:
    heard: list[str] = []

    def hear(news: SessionNews) -> None:
        assert isinstance(news.event, Token)
        heard.append(news.event.text)
        if len(heard) == 1:
            bridge.post_session_event(3, Token(3, "c"))
            qtbot.waitUntil(lambda: len(heard) == 3, timeout=WAIT_MS)

    bridge.session_event.connect(hear)
    bridge.post_session_event(1, Token(1, "a"))
    bridge.post_session_event(2, Token(2, "b"))
    qtbot.waitUntil(lambda: len(heard) == 3, timeout=WAIT_MS)
    assert heard == ["a", "b", "c"]
