"""Which parts of a piece of code get which colour."""

import threading
from collections.abc import Iterator
from typing import Final

from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Operator, String, _TokenType, is_token_subtype
from pygments.util import ClassNotFound

COLORED_CODE_MAX: Final = 60_000
"""Characters; longer code is shown in one colour."""

_LINE_MAX: Final = 2_000
"""Characters; some lexers take a time that grows with the square of a line."""

_COMMON: Final = (
    *("python", "bash", "json", "javascript", "html", "c", "cpp", "rust", "sql", "yaml", "java", "go", "css"),
    "no-such-language",
)
"""Languages of most answers; one that nobody knows is looked for in a place that has to be read first."""

_loading: Final = threading.Lock()
"""Rules are read once per language, which takes 20 ms."""

_COLORS: Final = (
    (Comment, "code_comment"),
    (Keyword, "code_keyword"),
    (Operator.Word, "code_keyword"),
    (String, "code_string"),
    (Name.Function, "code_name"),
    (Name.Class, "code_name"),
    (Name.Tag, "code_name"),
    (Name.Decorator, "code_name"),
    (Name.Attribute, "code_name"),
)


def colored(language: str, code: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, length, palette colour) of what is not plain text, in order.

    Lazy, so that a long text can be coloured in steps. Nothing for a language nobody knows.
    """
    if (
        not language
        or len(code) > COLORED_CODE_MAX
        or any(len(line) > _LINE_MAX for line in code.split("\n"))
    ):
        return
    try:
        with _loading:
            lexer = get_lexer_by_name(language.lower(), stripnl=False, ensurenl=False)
    except ClassNotFound:
        return
    for start, kind, text in lexer.get_tokens_unprocessed(code):
        color = _color(kind)
        if color and text:
            yield start, len(text), color


def warm_up() -> None:
    """Read the rules of common languages. In any thread: who needs one meanwhile waits for that one only."""
    for language in _COMMON:
        for _ in colored(language, "x"):
            pass


def _color(kind: _TokenType) -> str | None:
    return next((color for parent, color in _COLORS if is_token_subtype(kind, parent)), None)
