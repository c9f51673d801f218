"""The chat page: messages, what the model has to say, and the box to write in."""

from PySide6.QtWidgets import QWidget

from app.ui.model_view import ModelView
from app.ui.theme.look import LookSource
from app.ui.theme.tokens import LAYOUT
from app.ui.views.chat_view import ChatView
from app.ui.views.composer import Composer
from app.ui.views.model_stage import ModelStage, is_worth_showing
from app.ui.widgets.layouts import column, row
from app.ui.widgets.panel import Panel


class ChatPlace(Panel):
    """Without messages the stage fills the page; otherwise it lies below them while it is worth it."""

    def __init__(self, looks: LookSource, parent: QWidget | None = None) -> None:
        super().__init__(looks, ground="window", parent=parent)
        self._looks = looks
        self._view = ModelView()
        self._has_messages = False
        self.chat_view = ChatView(looks)
        self.stage = ModelStage(looks)
        self.composer = Composer(looks)
        layout = column(gap=0)
        layout.addWidget(self.chat_view, 1)
        layout.addWidget(self.stage, 1)
        foot = row(None, gap=0, margins=(20, 4, 20, 12))
        foot.addWidget(self.composer, 1000)
        foot.addStretch(1)
        layout.addLayout(foot)
        self.setLayout(layout)
        self._layout = layout
        rows = self.chat_view.model
        for changed in (rows.modelReset, rows.rowsInserted, rows.rowsRemoved, rows.dataChanged):
            changed.connect(self._arrange)
        looks.changed.connect(self._apply_look)
        self._apply_look()
        self._arrange()

    def show_view(self, view: ModelView) -> None:
        """Show the state of the model."""
        self._view = view
        self.chat_view.show_view(view)
        self.stage.show_view(view)
        self.composer.show_view(view)
        self._arrange()

    def set_has_messages(self, has_messages: bool) -> None:
        """Say whether the open conversation has any message."""
        self._has_messages = has_messages
        self._arrange()

    def _arrange(self) -> None:
        self.chat_view.setVisible(self._has_messages)
        self.stage.set_compact(self._has_messages)
        said = self.chat_view.newest_failure
        is_shown = is_worth_showing(self._view, has_messages=self._has_messages, said_by_message=said)
        self.stage.setVisible(is_shown)

    def _apply_look(self) -> None:
        zoom = max(1.0, self._looks.look.zoom)
        self.composer.setMaximumWidth(round((LAYOUT["prose_max"] + 32) * zoom))
