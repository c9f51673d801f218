"""Conversations by day: today, yesterday, last week, older. Pure but for the names of days."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Final

from PySide6.QtCore import QDate, QLocale

from app.chat.conversation import ConversationSummary

GROUPS: Final = ("today", "yesterday", "week", "older")
"""The ends of their text keys, in the order shown."""
DAYS_OF_LAST_WEEK: Final = 7


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The head of a group."""

    group: str


@dataclass(frozen=True, slots=True)
class ChatRow:
    """One conversation and the group it is in."""

    summary: ConversationSummary
    group: str


Row = GroupRow | ChatRow
Starts = tuple[tuple[str, float], ...]
"""Groups and the second they begin, the latest first."""


def group_starts(now: datetime) -> Starts:
    """Return when the groups begin, seen from `now`, local time."""
    midnight = datetime.combine(now.date(), time.min)
    days = (0, 1, DAYS_OF_LAST_WEEK)
    starts = [(midnight - timedelta(days=age)).timestamp() for age in days]
    return tuple(zip(GROUPS, (*starts, -math.inf), strict=True))


def group_of(updated_at: float, starts: Starts) -> str:
    """Return the group of a second; a clock set back puts times to come into `today`."""
    return next(group for group, start in starts if updated_at >= start)


def grouped_rows(conversations: Sequence[ConversationSummary], now: datetime) -> tuple[Row, ...]:
    """Return heads and conversations, the newest first."""
    starts = group_starts(now)
    rows: list[Row] = []
    group = ""
    for summary in sorted(conversations, key=lambda summary: summary.updated_at, reverse=True):
        own = group_of(summary.updated_at, starts)
        if own != group:
            group = own
            rows.append(GroupRow(group))
        rows.append(ChatRow(summary, group))
    return tuple(rows)


def when_words(row: ChatRow, locale: QLocale) -> str:
    """Return the time of the last change, the day of the week, or the date."""
    changed = datetime.fromtimestamp(row.summary.updated_at)
    if row.group in ("today", "yesterday"):
        return f"{changed:%H:%M}"
    if row.group == "week":
        return locale.dayName(changed.isoweekday(), QLocale.FormatType.ShortFormat)
    day = QDate(changed.year, changed.month, changed.day)
    return locale.toString(day, QLocale.FormatType.ShortFormat)


def matching(conversations: Sequence[ConversationSummary], words: str) -> tuple[ConversationSummary, ...]:
    """Return the conversations whose title holds all `words`, in any order and case."""
    parts = words.casefold().split()
    if not parts:
        return tuple(conversations)
    return tuple(c for c in conversations if all(part in (c.title or "").casefold() for part in parts))
