"""Makes the program's icon again: `resources/icons/moxie.svg`, `.png` and `.ico`.

Run from the checkout after a change of the mark in `app/ui/theme/glyphs.py`:
`python build_scripts/make_icons.py`.
"""

import os
import struct
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from PySide6.QtCore import QBuffer, QIODevice  # noqa: E402 the platform is chosen, and the checkout found, first
from PySide6.QtGui import QGuiApplication  # noqa: E402

from app.ui.theme.glyphs import LOGO, LOGO_GRID  # noqa: E402
from app.ui.theme.icons import logo_pixmap  # noqa: E402
from app.ui.theme.tokens import LIGHT  # noqa: E402

OUT: Final = ROOT / "resources" / "icons"
PNG_SIZE: Final = 256
ICO_SIZES: Final = (16, 24, 32, 48, 64, 256)


def main() -> int:
    """Write all three."""
    app = QGuiApplication.instance() or QGuiApplication(sys.argv[:1])
    OUT.mkdir(parents=True, exist_ok=True)
    pictures = {size: png_bytes(size) for size in {PNG_SIZE, *ICO_SIZES}}
    (OUT / "moxie.svg").write_text(svg_text(), encoding="utf-8")
    (OUT / "moxie.png").write_bytes(pictures[PNG_SIZE])
    (OUT / "moxie.ico").write_bytes(ico_bytes({size: pictures[size] for size in ICO_SIZES}))
    print(f"{OUT}: moxie.svg, moxie.png, moxie.ico")
    del app
    return 0


def svg_text() -> str:
    """Return the mark as SVG in the accent of the light theme."""
    paths = []
    for part in LOGO:
        color = getattr(LIGHT, part.color) if part.color else "#000000"
        opacity = "" if part.opacity == 1.0 else f' fill-opacity="{part.opacity:g}"'
        paths.append(f'  <path d="{part.path}" fill="{color}"{opacity}/>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LOGO_GRID:g} {LOGO_GRID:g}">'
    return "\n".join([head, *paths, "</svg>", ""])


def png_bytes(size: int) -> bytes:
    """Return the mark as PNG, `size` pixels wide."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    logo_pixmap(LIGHT, size).save(buffer, "PNG")
    return bytes(buffer.data().data())


def ico_bytes(pictures: Mapping[int, bytes]) -> bytes:
    """Return a Windows icon of PNG pictures by size (ICONDIR: a size of 256 is told as 0)."""
    head = struct.pack("<HHH", 0, 1, len(pictures))
    at = len(head) + 16 * len(pictures)
    entries = b""
    for size, data in pictures.items():
        entries += struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(data), at)
        at += len(data)
    return head + entries + b"".join(pictures.values())


if __name__ == "__main__":
    sys.exit(main())
