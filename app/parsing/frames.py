"""What a limited child and its parent say to each other: JSON after its length, bytes behind a question."""

import json
import struct
from typing import IO, Any, Final

QUESTION: Final = struct.Struct("<II")
"""Bytes of JSON, bytes of the attachment."""

ANSWER: Final = struct.Struct("<I")
"""Bytes of JSON."""

PARSER_FLAG: Final = "--parser-child"


def question_frame(value: Any, attachment: bytes) -> bytes:
    """Return a question as bytes."""
    text = json.dumps(value).encode("ascii")
    return QUESTION.pack(len(text), len(attachment)) + text + attachment


def answer_frame(value: Any) -> bytes:
    """Return an answer as bytes; lone surrogates are carried as escapes."""
    text = json.dumps(value).encode("ascii")
    return ANSWER.pack(len(text)) + text


def read_question(stream: IO[bytes]) -> tuple[Any, bytes] | None:
    """Return the next question and its attachment; None at the end."""
    head = stream.read(QUESTION.size)
    if len(head) < QUESTION.size:
        return None
    text_bytes, attachment_bytes = QUESTION.unpack(head)
    text, attachment = stream.read(text_bytes), stream.read(attachment_bytes)
    return (json.loads(text), attachment) if len(attachment) == attachment_bytes else None
