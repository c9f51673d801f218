"""The program's icon files are those of the mark in the code."""

import pytest
from PySide6.QtGui import QColor, QImage, QImageReader
from PySide6.QtWidgets import QApplication

from app.paths import resource_path
from app.ui.theme.tokens import LIGHT
from build_scripts import make_icons


def test_the_svg_is_of_the_mark_in_the_code() -> None:
    assert resource_path("icons", "moxie.svg").read_text(encoding="utf-8") == make_icons.svg_text()


def test_the_png_is_large_enough_for_every_desktop(qapp: QApplication) -> None:
    picture = QImage(str(resource_path("icons", "moxie.png")))
    assert (picture.width(), picture.height()) == (256, 256)
    assert picture.pixelColor(0, 0).alpha() == 0
    assert picture.pixelColor(128, 40) == QColor(LIGHT.accent)


def test_the_windows_icon_has_every_size_as_a_picture(qapp: QApplication) -> None:
    reader = QImageReader(str(resource_path("icons", "moxie.ico")))
    if b"ico" not in [bytes(name.data()) for name in QImageReader.supportedImageFormats()]:
        pytest.fail("this Qt reads no icons")
    sizes = []
    for index in range(reader.imageCount()):
        reader.jumpToImage(index)
        sizes.append(reader.read().width())
    assert sorted(sizes) == list(make_icons.ICO_SIZES)
