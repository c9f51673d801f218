"""What stands in place of a plan: nothing chosen, being looked at, not a chat model, broken, unreadable."""

from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.findings import FindingCode
from app.gguf.facts import FileKind
from app.ui.model_page_view import ModelPageView
from app.ui.theme.look import LookSource
from app.ui.widgets.buttons import Button
from app.ui.widgets.labels import IconLabel, TextLabel
from app.ui.widgets.layouts import card, column, row

_UNREADABLE: Final = frozenset({FindingCode.ACCESS_DENIED, FindingCode.PATH_MISSING, FindingCode.NOT_A_FILE})
_OTHER_KINDS: Final = frozenset(set(FileKind) - {FileKind.MODEL, FileKind.NOT_GGUF, FileKind.UNKNOWN})


class ModelState(QWidget):
    """One sentence, what it means, and the way on.

    Signals:
        again_requested: the file is to be looked at once more.
        folder_requested: the file's folder is to be shown.
    """

    again_requested = Signal()
    folder_requested = Signal()

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self._view = ModelPageView()
        self._sign = IconLabel(looks, "info", "text_faint", 28)
        self._title = TextLabel("subtitle", wrap=True)
        self._hint = TextLabel("body", "soft", wrap=True)
        self.again = Button(looks, "secondary", "retry")
        self.folder = Button(looks, "secondary", "folder")
        words = column(self._title, self._hint, gap=4)
        line = row(column(self._sign, None), gap=14)
        line.addLayout(words, 1)
        line.addLayout(row(self.folder, self.again, gap=8))
        self.setLayout(column(card(line)))
        self.again.clicked.connect(self.again_requested)
        self.folder.clicked.connect(self.folder_requested)
        looks.changed.connect(self._show)

    def show_view(self, view: ModelPageView) -> None:
        """Show why there is no plan; hidden where there is one."""
        self._view = view
        self._show()

    def _show(self) -> None:
        look, view = self._looks.look, self._view
        state = page_state(view)
        self.setVisible(state is not None)
        if state is None:
            return
        icon, ink = _SIGNS[state]
        self._sign.set_icon(icon, ink)
        kind = view.facts.kind.value if view.facts is not None else FileKind.UNKNOWN.value
        is_kind = state == "other_kind"
        self._title.setText(
            look.text(f"ui.models.kind_title.{kind}" if is_kind else f"ui.models.state.{state}")
        )
        self._hint.setText(
            look.text(f"ui.models.kind_hint.{kind}" if is_kind else f"ui.models.state.{state}.hint")
        )
        self.again.setText(look.text("ui.models.again"))
        self.again.setVisible(state in ("broken", "unreadable", "refused"))
        self.folder.setText(look.text("ui.models.show_folder"))
        self.folder.setVisible(state != "checking")


def page_state(view: ModelPageView) -> str | None:
    """Return `checking`, `unreadable`, `other_kind`, `refused` or `broken`; None where there is a plan."""
    if view.path is None:
        return None
    if view.plans and not view.is_checking:
        return None if view.can_load else "refused"
    if view.is_checking:
        return None if view.plans else "checking"
    if view.failure is not None and view.failure.code in _UNREADABLE:
        return "unreadable"
    if view.facts is not None and view.facts.kind in _OTHER_KINDS:
        return "other_kind"
    return "broken"


_SIGNS: Final = {
    "checking": ("clock", "text_faint"),
    "unreadable": ("error", "danger_text"),
    "other_kind": ("info", "info_text"),
    "broken": ("error", "danger_text"),
    "refused": ("error", "danger_text"),
}
