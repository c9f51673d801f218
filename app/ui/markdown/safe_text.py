"""Characters that would do something instead of being read are replaced by something to read."""

import re
from typing import Final

LINE_BREAK: Final = "\u2028"
"""Ends a line without ending the paragraph, in a `QTextDocument`."""

_C0_PICTURES: Final = {code: chr(0x2400 + code) for code in range(0x20) if code not in (0x09, 0x0A)}
_QT_MARKS: Final = {
    0xFDD0: "\ufffd",
    0xFDD1: "\ufffd",
    0xFFFC: "\ufffd",
}  # a document's own block and object marks
_BREAKS: Final = {0x0D: "", 0x2028: "\n", 0x2029: "\n", 0x7F: "\u2421"}
_TABLE: Final = {**_C0_PICTURES, **_QT_MARKS, **_BREAKS}
_NAMED: Final = re.compile(
    "[\u0080-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f\ufff9-\ufffb]"
)
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


def harmless(text: str) -> str:
    """Return `text` with control and direction characters as visible names, all else as it is.

    Source: Unicode UAX #9 (directional formatting), UTS #39; tag characters carry hidden text.
    """
    plain = text.replace("\r\n", "\n").translate(_TABLE)
    plain = _SURROGATES.sub("\ufffd", plain)
    return _NAMED.sub(lambda found: f"[U+{ord(found.group()):04X}]", plain)
