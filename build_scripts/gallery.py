"""Renders the common widgets in both themes and languages: `python build_scripts/gallery.py FOLDER`."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from PySide6.QtCore import QEvent, QPoint, Qt  # noqa: E402 the platform is chosen, and the checkout found, first
from PySide6.QtGui import QMouseEvent, QPixmap, QRegion  # noqa: E402
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QVBoxLayout, QWidget  # noqa: E402

from app.findings import FindingCode, error, note, warning  # noqa: E402
from app.texts import LANGUAGES, Texts  # noqa: E402
from app.ui.theme.fonts import load_fonts  # noqa: E402
from app.ui.theme.glyphs import GLYPHS  # noqa: E402
from app.ui.theme.icons import logo_pixmap  # noqa: E402
from app.ui.theme.look import Look, LookSource  # noqa: E402
from app.ui.theme.style_sheet import apply_look  # noqa: E402
from app.ui.theme.tokens import DARK, LIGHT, TYPE  # noqa: E402
from app.ui.widgets.buttons import Button, IconButton  # noqa: E402
from app.ui.widgets.controls import MarkSlider, Segmented, Switch  # noqa: E402
from app.ui.widgets.data_table import Column, DataTable, RowsModel  # noqa: E402
from app.ui.widgets.dialogs import Change, Question, QuestionDialog, TextDialog  # noqa: E402
from app.ui.widgets.failure_card import FailureCard  # noqa: E402
from app.ui.widgets.fields import Choice, Field, SearchField  # noqa: E402
from app.ui.widgets.findings_view import FindingsList  # noqa: E402
from app.ui.widgets.labels import Chip, ElidedLabel, IconLabel, KeyCap, TextLabel  # noqa: E402
from app.ui.widgets.layouts import FlowLayout, Item, card, column, holder, row, tone_box  # noqa: E402
from app.ui.widgets.share_bar import ShareBar, ShareLegend  # noqa: E402
from app.ui.widgets.toast import Toast  # noqa: E402
from build_scripts.gallery_models import model_sheets  # noqa: E402

STATES: Final = ("rest", "hover", "pressed", "focus", "disabled", "busy")
KINDS: Final = ("primary", "secondary", "ghost", "danger", "link")
TONES: Final = {"info": "info", "success": "ok", "warning": "warning", "danger": "error", "accent": "gauge"}
ZOOMS: Final = (1.0, 1.5, 2.0)
OWN_SIZE: Final = (0, 0)
WORDS: Final = {
    "en": ("Load model", "Loading…", "Auto", "Manual", "Search chats", "Write a number from 0 to 2."),
    "zh_CN": ("加载模型", "加载中…", "自动", "手动", "搜索对话", "写 0 到 2 之间的数字。"),
}
"""Samples, not texts of the program."""


def main(arguments: Sequence[str]) -> int:
    """Write all pictures into the folder named first."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    app = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(app, QApplication)
    load_fonts()
    for colors in (LIGHT, DARK):
        for language in LANGUAGES:
            for zoom in ZOOMS:
                looks = LookSource(Look(colors, Texts(language), zoom))
                apply_look(app, looks.look)
                name = f"{colors.name}_{language}_{zoom:g}"
                _shoot(app, _sheet(looks), folder / f"widgets_{name}.png", (1240, 0))
                _shoot(app, _findings(looks), folder / f"findings_{name}.png", (760, 0))
                _shoot(app, _question(looks), folder / f"question_{name}.png", OWN_SIZE)
                _shoot(app, _text(looks), folder / f"text_{name}.png", OWN_SIZE)
                _shoot(app, _table(looks), folder / f"table_{name}.png", (760, 0))
                for title, page, size in model_sheets(looks):
                    _shoot(app, page, folder / f"{title}_{name}.png", size)
    return 0


def _shoot(app: QApplication, page: QWidget, path: Path, size: tuple[int, int]) -> None:
    """Save a picture of `page`, as high as it needs at this width."""
    if size != OWN_SIZE:
        page.resize(size[0], size[1] or page.sizeHint().height())
    page.show()
    app.processEvents()
    if page.hasHeightForWidth() and size != OWN_SIZE and not size[1]:
        page.resize(page.width(), page.heightForWidth(page.width()))
        app.processEvents()
    page.grab().save(str(path))
    print(path)
    page.close()
    page.deleteLater()


def _table(looks: LookSource) -> QWidget:
    """Return a table of many rows, and a bar of shares with its legend."""
    bar, legend = ShareBar(looks), ShareLegend(looks)
    types = ("Q4_K 12.7 GB", "Q6_K 3.7 GB", "Q8_0 1.9 GB", "F32 0.4 GB")
    bar.show_shares((0.68, 0.2, 0.1, 0.02), "bar", ", ".join(types))
    legend.show_words(types, "bar")
    columns = (
        Column(
            "name", "ui.details.column.name", lambda number, _: f"blk.{number}.attn_q.weight", is_code=True
        ),
        Column("type", "ui.details.column.type", lambda number, _: ("Q4_K", "Q6_K")[number % 2], "IQ3_XXS"),
        Column("size", "ui.details.column.size", lambda number, _: f"{number} MB", "999 MB", is_number=True),
    )
    model = RowsModel(looks, columns)
    model.is_marked = lambda number: number % 5 == 4
    model.show_rows(range(500), range(500))
    table = DataTable(looks, model)
    table.setMinimumHeight(220)
    table.select_line(2)
    return holder(column(card(column(bar, legend, table)), margins=(20, 16, 20, 16)), surface="window")


def _sheet(looks: LookSource) -> QWidget:
    """Return every control in every state."""
    words = WORDS[looks.look.texts.language]
    head: list[Item] = [_cell(_label("", "caption", None))]
    head += [_cell(_label(state, "caption", "faint")) for state in STATES]
    lines: list[Item] = [row(*head, None)]
    for kind in KINDS:
        cells = [_cell(_portrait(_button(looks, kind, state, words), state)) for state in STATES]
        lines.append(row(_cell(_label(kind, "label", "soft")), *cells, None))
    tones = row(gap=12)
    for tone, name in TONES.items():
        text = _label(tone, "label", None)
        tones.addWidget(tone_box(tone, row(IconLabel(looks, name, f"{tone}_text", 18), text, None)))
    types = row(*(_label(f"{name} 字", name, None) for name in TYPE), None, gap=18)
    icons = FlowLayout(*(IconLabel(looks, name) for name in GLYPHS), gap=12)
    logo = QLabel()
    logo.setPixmap(logo_pixmap(looks.look.colors, 48))
    page = column(
        card(column(*lines)), card(_controls(looks, words)), holder(tones), card(types),
        card(column(row(logo, holder(icons), gap=18))), gap=12, margins=(20, 16, 20, 16),
    )  # fmt: skip
    return holder(page, surface="window")


def _button(looks: LookSource, kind: str, state: str, words: Sequence[str]) -> Button:
    button = Button(looks, kind, "play")
    button.setText(words[0])
    if state == "busy":
        button.set_busy(words[1])
    return button


def _controls(looks: LookSource, words: Sequence[str]) -> QVBoxLayout:
    fields: list[Item] = []
    for state in ("rest", "hover", "focus", "disabled"):
        line = QLineEdit(state)
        line.setFixedWidth(160)
        fields.append(_portrait(line, state))
    wrong = Field(looks)
    wrong.setFixedWidth(180)
    wrong.set_text("12,5")
    wrong.set_wrong(words[5])
    search = SearchField(looks)
    search.set_words(words[4], "Ctrl K")
    filled = SearchField(looks)
    filled.setText("MoE")
    choice = Choice(looks)
    choice.addItems(["f16", "q8_0"])
    painted: list[Item] = []
    for is_on in (False, True):
        for state in ("rest", "focus", "disabled"):
            switch = Switch(looks)
            switch.setChecked(is_on)
            painted.append(_portrait(switch, state))
    for state in ("rest", "focus", "disabled"):
        slider = MarkSlider(looks)
        slider.setFixedWidth(140)
        slider.setRange(0, 48)
        slider.setValue(24)
        slider.set_mark(22)
        painted.append(_portrait(slider, state))
    chosen = Segmented(looks)
    chosen.set_items([("auto", words[2]), ("manual", words[3])])
    chosen.set_current("auto")
    small = [IconButton(looks, "copy"), IconButton(looks, "retry", small=True)]
    chips = []
    for tone in ("neutral", *TONES):
        chip = Chip(tone)
        chip.setText(f"{tone} 标签")
        chips.append(chip)
    long = ElidedLabel("body")
    long.setText("DeepSeek-V4-Flash-UD-Q4_K_XL-00003-of-00005.gguf")
    long.setFixedWidth(220)
    return column(
        row(*fields, wrong, None, gap=12), row(search, filled, choice, gap=12),
        row(*painted, None, gap=12), row(chosen, *small, *chips, KeyCap("Ctrl L"), long, None, gap=12),
        gap=14,
    )  # fmt: skip


def _findings(looks: LookSource) -> QWidget:
    """Return findings and a failure, with a toast over them."""
    findings = FindingsList(looks)
    findings.show_findings(
        (
            note(FindingCode.CHAT_TEMPLATE_MISSING),
            warning(FindingCode.GPU_NOT_FOUND),
            error(FindingCode.FILE_EMPTY, file="推理/qwen3.gguf"),
        ),
        {FindingCode.FILE_EMPTY: WORDS[looks.look.texts.language][0]},
    )
    passed = FindingsList(looks)
    passed.show_findings((), {})
    failure = FailureCard(looks)
    failure.show_failure(
        error(FindingCode.GPU_NOT_FOUND), "1.7 GB / 12.0 GB", "Load with experts of 30 layers in RAM",
        "Shorten context to 16k", "about 27 tok/s instead of 31", "CUDA0 buffer",
    )  # fmt: skip
    page = holder(
        column(card(column(findings)), card(column(passed)), failure, 70, gap=12, margins=(20, 16, 20, 16)),
        surface="window",
    )
    page.setMinimumWidth(760)
    toast = Toast(looks, page)
    toast.show_message("已删除对话。 Chat deleted.", "Undo", page.update)
    return page


def _question(looks: LookSource) -> QWidget:
    return QuestionDialog(
        looks,
        Question(
            title="Reload the model to apply this? 重新加载模型以应用更改？",
            body="Reading 17.3 GB again takes about 9 seconds. These stay: 以下内容会保留：",
            primary="Reload now 立即",
            kept=("This chat and its 5.1k tokens of context", "已输入未发送的内容"),
            changes=(
                Change("Experts in RAM", "24 layers", "22 layers"),
                Change("显存", "10.8 GB", "11.5 GB"),
            ),
            other="Later",
        ),
    )


def _text(looks: LookSource) -> QWidget:
    return TextDialog(looks, "Report 报告", "Moxie 0.1.0\nllama-server b10434\n" * 12)


def _label(text: str, style: str, ink: str | None) -> TextLabel:
    label = TextLabel(style, ink)
    label.setText(text)
    return label


def _cell(inner: QWidget) -> QWidget:
    cell = holder(row(inner, None))
    cell.setFixedWidth(168)
    return cell


def _portrait(widget: QWidget, state: str) -> QLabel:
    """Return a picture of `widget` in `state`: only one widget of a window can really have the focus."""
    host = holder(row(widget))
    host.show()
    host.activateWindow()
    QApplication.processEvents()
    widget.setEnabled(widget.isEnabled() and state != "disabled")
    if state == "focus":
        widget.setFocus()
    else:
        widget.clearFocus()
    widget.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, state == "hover")
    if state == "hover":
        QApplication.sendEvent(widget, _mouse_move(widget))
    if state == "pressed" and isinstance(widget, Button):
        widget.setDown(True)
    pixmap = QPixmap(widget.size())
    pixmap.fill(Qt.GlobalColor.transparent)
    widget.render(pixmap, QPoint(), QRegion(), QWidget.RenderFlag.DrawChildren)
    picture = QLabel()
    picture.setPixmap(pixmap)
    host.close()
    return picture


def _mouse_move(widget: QWidget) -> QMouseEvent:
    where = widget.rect().center().toPointF()
    kind, none = QEvent.Type.MouseMove, Qt.MouseButton.NoButton
    return QMouseEvent(kind, where, widget.mapToGlobal(where), none, none, Qt.KeyboardModifier.NoModifier)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
