"""Icons, fonts, style sheet and the look that every widget reads."""

import re

import pytest
from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QFontInfo, QFontMetrics, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.texts import Texts
from app.ui.theme import fonts as fonts_module
from app.ui.theme.fonts import load_fonts
from app.ui.theme.glyphs import GLYPHS, LOGO
from app.ui.theme.icons import icon, icon_pixmap, logo_pixmap, paint_icon
from app.ui.theme.look import Look, LookSource
from app.ui.theme.paths import painter_path
from app.ui.theme.style_sheet import style_sheet
from app.ui.theme.system_theme import is_system_dark
from app.ui.theme.tokens import DARK, LIGHT, TITLES, TYPE
from tests.gui.look_names import LOOK_NAMES

SIZE = 96
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path d="{line}" fill="none" stroke="#000" '
    'stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round"/><path d="{fill}" fill="#000"/></svg>'
)


@pytest.mark.parametrize("name", GLYPHS)
def test_an_icon_is_what_an_svg_renderer_draws(qapp: QApplication, name: str) -> None:
    ours, theirs = _sheet(), _sheet()
    painter = QPainter(ours)
    paint_icon(painter, name, QRectF(0, 0, SIZE, SIZE), "#000000")
    painter.end()
    painter = QPainter(theirs)
    svg = SVG.format(line=GLYPHS[name].line, fill=GLYPHS[name].fill)
    QSvgRenderer(QByteArray(svg.encode())).render(painter, QRectF(0, 0, SIZE, SIZE))
    painter.end()
    assert _ink(ours) > 100
    assert _difference(ours, theirs) < 0.05 * _ink(theirs)


def test_a_path_of_unknown_commands_is_an_error() -> None:
    with pytest.raises(KeyError):
        painter_path("M0 0Q1 1 2 2")


def test_an_icon_is_sharp_on_every_screen_and_pale_when_disabled(qapp: QApplication) -> None:
    made = icon("play", "#000000", "#FF0000", 20)
    for scale in (1.0, 1.5, 2.0, 3.0):
        pixmap = made.pixmap(made.availableSizes()[0], scale)
        assert pixmap.width() == round(20 * scale)
    normal = icon_pixmap("stop", "#000000", 20).toImage().pixelColor(10, 10)
    assert normal == QColor("#000000")
    disabled = icon("stop", "#000000", "#FF0000", 20).pixmap(20, icon("stop", "#000").Mode.Disabled)
    assert disabled.toImage().pixelColor(10, 10) == QColor("#FF0000")


def test_the_mark_takes_the_accent_of_its_theme(qapp: QApplication) -> None:
    assert logo_pixmap(LIGHT, 64).toImage().pixelColor(32, 10) == QColor(LIGHT.accent)
    assert logo_pixmap(DARK, 64).toImage().pixelColor(32, 10) == QColor(DARK.accent)
    assert len(LOGO) == 4


def test_the_bundled_fonts_are_used_in_all_weights(looks: LookSource) -> None:
    for style, spec in TYPE.items():
        info = QFontInfo(looks.look.font(style))
        assert info.family() == ("JetBrains Mono" if style == "code" else "Inter")
        assert info.weight() == spec.weight
        assert info.pixelSize() == spec.size


@pytest.mark.parametrize("looks", ["dark-zh"], indirect=True)
def test_in_chinese_only_titles_are_bold(looks: LookSource) -> None:
    for style, spec in TYPE.items():
        is_title = style in TITLES
        for asked in (None, 500, 600):
            wanted = (asked or spec.weight) if is_title else 400
            assert looks.look.font(style, asked).weight() == wanted, style
    sheet = style_sheet(looks.look)
    assert "font-weight: 500" not in sheet
    assert sheet.count("font-weight: 600") == len(TITLES)


def test_figures_are_equally_wide_and_hyphens_are_not_widened(looks: LookSource) -> None:
    metrics = QFontMetrics(looks.look.font("figure"))
    assert metrics.horizontalAdvance("1111") == metrics.horizontalAdvance("8888")
    plain = looks.look.font("figure")
    plain.unsetFeature(plain.featureTags()[0])
    assert metrics.horizontalAdvance("a-b (c)") == QFontMetrics(plain).horizontalAdvance("a-b (c)")


def test_a_missing_font_is_told_and_no_crash(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(fonts_module, "FONT_FILES", ("Absent.ttf",))
    assert load_fonts() is False
    assert "Absent.ttf" in caplog.text


@pytest.mark.parametrize("looks", LOOK_NAMES, indirect=True)
def test_the_style_sheet_is_whole(looks: LookSource) -> None:
    sheet = style_sheet(looks.look)
    assert "$" not in sheet
    assert not re.search(r"\ddp\b", sheet)
    assert sheet.count("{") == sheet.count("}")


def test_lengths_grow_with_the_text_and_hairlines_do_not() -> None:
    sheet = style_sheet(Look(LIGHT, Texts("en"), 2.0))
    assert "font-size: 28px" in sheet
    assert "border: 1px solid" in sheet


def test_a_look_is_told_only_when_it_is_another(looks: LookSource, qtbot: QtBot) -> None:
    with qtbot.assertNotEmitted(looks.changed):
        looks.set_look(Look(LIGHT, looks.look.texts))
    with qtbot.waitSignal(looks.changed):
        looks.set_look(Look(DARK, looks.look.texts))


def test_the_theme_of_the_system_is_asked(qapp: QApplication) -> None:
    assert is_system_dark() is (qapp.styleHints().colorScheme() is Qt.ColorScheme.Dark)
    qapp.styleHints().setColorScheme(Qt.ColorScheme.Dark)
    try:
        assert is_system_dark() is (qapp.styleHints().colorScheme() is Qt.ColorScheme.Dark)
    finally:
        qapp.styleHints().unsetColorScheme()


def _sheet() -> QImage:
    image = QImage(SIZE, SIZE, QImage.Format.Format_Alpha8)
    image.fill(0)
    return image


def _ink(image: QImage) -> int:
    return sum(bytes(image.constBits())) // 255


def _difference(one: QImage, two: QImage) -> float:
    pairs = zip(bytes(one.constBits()), bytes(two.constBits()), strict=True)
    return sum(abs(a - b) for a, b in pairs) / 255
