"""Answers as models write them, for tests of the conversation."""

from collections.abc import Iterator

from app.chat.turn import TurnFigures
from app.engine.protocol import Timings
from app.ui.views.chat_items import MessageItem

FIGURES = TurnFigures(Timings(1204, 900.0, 312, 9936.0, None), 900.0, 31.4)

ANSWER = """## Reading the file safely

Open the file as **utf-8-sig**. Three things break such exports, see [the manual](https://example.org/csv):

- empty rows,
- numbers stored as text.

```python
import csv

def rows(path: str) -> list[str]:
    return list(csv.reader(open(path)))
```

| Step | Rows |
|---|--:|
| Read | 12,400 |
"""


def conversation(count: int) -> tuple[MessageItem, ...]:
    """Return `count` messages of both sides, their lengths different."""
    items = []
    for number in range(count):
        is_user = number % 2 == 0
        text = f"Question {number}: " + "why " * (number % 40) if is_user else answer(number)
        reasoning = "Let me think about it. " * 5 if not is_user and number % 3 == 0 else ""
        items.append(
            MessageItem(
                id=number + 1,
                role="user" if is_user else "assistant",
                text=text,
                reasoning=reasoning,
                finish_reason=None if is_user else "stop",
                figures=None if is_user else FIGURES,
            )
        )
    return tuple(items)


def answer(number: int) -> str:
    """Return one of many answers, some with code and tables."""
    words = f"Answer {number}. " + "Some words that make a paragraph of it. " * (number % 11)
    return f"{words}\n\n{ANSWER}" if number % 5 == 0 else words


def long_answer(tokens: int) -> Iterator[str]:
    """Yield an answer token by token: headings, lists, a fence of 300 lines, a table of 40 rows."""
    count = 0
    while True:
        for piece in _parts():
            for word in piece.split(" "):
                if count == tokens:
                    return
                count += 1
                yield f"{word} "


def _parts() -> Iterator[str]:
    yield "# A heading\n\nWords of a paragraph that goes on and on, until it has filled some lines.\n\n"
    yield "\n".join(f"- point {number} of the list" for number in range(12)) + "\n\n"
    yield "```python\n" + "\n".join(f"value_{n} = compute({n}) # line {n}" for n in range(300)) + "\n```\n\n"
    yield "| Name | Value |\n|---|---|\n" + "\n".join(f"| row {n} | {n * n} |" for n in range(40)) + "\n\n"
