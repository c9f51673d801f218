"""Conversations by day: today, yesterday, last week, older. Pure but for the names of days."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
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
    """One conversation; `when` is the time, the day of the week, or the date."""

    summary: ConversationSummary
    when: str


Row = GroupRow | ChatRow


def grouped_rows(
    conversations: Sequence[ConversationSummary], now: datetime, locale: QLocale
) -> tuple[Row, ...]:
    """Return heads and conversations, the newest first."""
    newest_first = sorted(conversations, key=lambda summary: summary.updated_at, reverse=True)
    rows: list[Row] = []
    group = ""
    for summary in newest_first:
        changed = datetime.fromtimestamp(summary.updated_at)
        if group_of(changed.date(), now.date()) != group:
            group = group_of(changed.date(), now.date())
            rows.append(GroupRow(group))
        rows.append(ChatRow(summary, _when(changed, group, locale)))
    return tuple(rows)


def group_of(day: date, today: date) -> str:
    """Return the group of a day; a clock set back puts days to come into `today`."""
    age = (today - day).days
    if age <= 0:
        return "today"
    if age == 1:
        return "yesterday"
    return "week" if age <= DAYS_OF_LAST_WEEK else "older"


def matching(conversations: Sequence[ConversationSummary], words: str) -> tuple[ConversationSummary, ...]:
    """Return the conversations whose title holds all `words`, in any order and case."""
    parts = words.casefold().split()
    return tuple(c for c in conversations if all(part in (c.title or "").casefold() for part in parts))


def _when(changed: datetime, group: str, locale: QLocale) -> str:
    if group in ("today", "yesterday"):
        return f"{changed:%H:%M}"
    if group == "week":
        return locale.dayName(changed.isoweekday(), QLocale.FormatType.ShortFormat)
    day = QDate(changed.year, changed.month, changed.day)
    return locale.toString(day, QLocale.FormatType.ShortFormat)
