"""Labels wrap, shorten and change colour."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QColor, QHelpEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.texts import Texts
from app.ui.theme.look import Look, LookSource
from app.ui.theme.tokens import DARK, LIGHT
from app.ui.widgets.labels import Chip, ElidedLabel, IconLabel, TextLabel
from app.ui.widgets.layouts import FlowLayout, column, holder, row
from tests.gui.page_parts import clipped

Show = Callable[[QWidget], QWidget]
NAME = "DeepSeek-V4-Flash-UD-Q4_K_XL-00003-of-00005.gguf"


def test_marks_in_a_name_are_shown_and_not_obeyed(looks: LookSource) -> None:
    label = TextLabel()
    label.setText("<b>model</b>&amp;")
    assert label.textFormat() is Qt.TextFormat.PlainText


def test_wrapped_text_has_the_line_of_its_style_and_more_in_chinese(looks: LookSource) -> None:
    label = TextLabel("body", wrap=True)
    label.ensurePolished()
    label.setText("one\ntwo\nthree")
    assert label.heightForWidth(400) == 3 * 20
    label.setText("一\n二\n三")
    assert label.heightForWidth(400) == pytest.approx(3 * 14 * 1.6, abs=1)


def test_a_long_path_breaks_rather_than_widens_its_page(looks: LookSource, show: Show) -> None:
    label = TextLabel("body", wrap=True)
    label.setText(f"/models/推理/{NAME}")
    page = show(holder(column(label, None)))
    page.resize(160, 200)
    QApplication.processEvents()
    assert label.width() <= 160
    assert label.heightForWidth(160) >= 3 * 20
    assert clipped(page) == []


@pytest.mark.parametrize("zoom", [0.8, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("style", ["caption", "body", "title", "code"])
def test_wrapped_text_fits_at_every_text_size(looks: LookSource, show: Show, zoom: float, style: str) -> None:
    looks.set_look(Look(LIGHT, Texts("zh_CN"), zoom))
    label = TextLabel(style, wrap=True)
    label.setText("创建上下文时显存不足，还差 1.7 GB。Chrome 正占用 0.8 GB 显存；32k 上下文占 3.1 GB。")
    page = show(holder(column(label, None)))
    page.resize(260, 1200)
    QApplication.processEvents()
    assert clipped(page) == []


def test_text_larger_than_its_place_is_found_by_the_check_for_it(looks: LookSource, show: Show) -> None:
    label = TextLabel("body", wrap=True)
    label.setText("a sentence that needs more than one line of this width")
    label.setFixedSize(120, 20)
    assert clipped(show(holder(column(label)))) == [label.text()]


def test_a_shortened_name_is_whole_in_its_tool_tip(looks: LookSource, show: Show) -> None:
    label = ElidedLabel(mode=Qt.TextElideMode.ElideMiddle)
    label.setText(NAME)
    label.setFixedWidth(120)
    show(holder(row(label)))
    _ask_for_tool_tip(label)
    assert label.toolTip() == NAME
    label.setFixedWidth(600)
    _ask_for_tool_tip(label)
    assert label.toolTip() == ""


def test_ink_and_tone_change_at_once(looks: LookSource, show: Show) -> None:
    label, chip = TextLabel("body", "soft"), Chip("neutral")
    chip.setText("fits")
    show(holder(row(label, chip)))
    label.set_ink("danger")
    chip.set_tone("success")
    assert label.palette().color(label.foregroundRole()) == QColor(LIGHT.danger_text)
    assert chip.grab().toImage().pixelColor(QPoint(4, chip.height() // 2)) == QColor(LIGHT.success_soft)


def test_an_icon_takes_theme_and_text_size(looks: LookSource, show: Show) -> None:
    sign = IconLabel(looks, "stop", "danger_text", 20)
    show(holder(row(sign)))
    looks.set_look(Look(DARK, Texts("en"), 2.0))
    QApplication.processEvents()
    assert (sign.width(), sign.height()) == (40, 40)
    assert sign.grab().toImage().pixelColor(20, 20) == QColor(DARK.danger_text)


def test_a_flow_goes_on_in_the_next_line(looks: LookSource, show: Show) -> None:
    chips = [Chip() for _ in range(6)]
    for chip in chips:
        chip.setText("24 of 48 layers")
    page = show(holder(column(holder(FlowLayout(*chips)), None)))
    page.resize(260, 300)
    QApplication.processEvents()
    assert len({chip.y() for chip in chips}) > 1
    assert clipped(page) == []
    page.resize(1200, 300)
    QApplication.processEvents()
    assert len({chip.y() for chip in chips}) == 1


def _ask_for_tool_tip(label: QWidget) -> None:
    QApplication.sendEvent(label, QHelpEvent(QEvent.Type.ToolTip, QPoint(2, 2), QPoint(2, 2)))
