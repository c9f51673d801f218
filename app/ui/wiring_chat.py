"""Joins the chat controller with list, messages, box and toast."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QTimer, Slot

from app.chat.conversation import ConversationSummary
from app.chat.reasoning import PieceKind
from app.findings import Finding
from app.ui.controllers.chat_controller import ChatController
from app.ui.controllers.model_controller import ModelController
from app.ui.controllers.waiting import hint_for
from app.ui.failed_answers import FailedAnswers
from app.ui.model_view import ModelView
from app.ui.parts import Parts
from app.ui.reporting import copy_report, report_text
from app.ui.views.chat_items import MessageItem
from app.ui.widgets.dialogs import TextDialog


class ChatWiring(QObject):
    """Carries what the person does to the chats, and what becomes of them back. GUI thread."""

    def __init__(self, parts: Parts, model: ModelController, chat: ChatController) -> None:
        super().__init__()
        self._parts = parts
        self._model = model
        self._chat = chat
        self._place = parts.window.chat_place
        self._conversations: tuple[ConversationSummary, ...] = ()
        self._used_tokens: int | None = None
        self._failed = FailedAnswers()
        self._coming: MessageItem | None = None
        self._later = QTimer(self, interval=0, singleShot=True)
        self._later.timeout.connect(self._add_coming)
        self._connect_list()
        self._connect_messages()
        self._connect_box()
        model.view_changed.connect(self._on_view_changed)
        chat.undo_offered.connect(self._on_undo_offered)
        chat.answer_failed.connect(self._on_answer_failed)
        chat.store_failed.connect(self.show_finding)
        parts.preferences.store_failed.connect(self.show_finding)

    @Slot(object)
    def show_finding(self, finding: Finding) -> None:
        """Say what went wrong beside the model."""
        self._parts.window.show_toast(self._parts.looks.look.texts.finding(finding).message)

    def _connect_list(self) -> None:
        chats, chat = self._parts.window.conversation_list, self._chat
        chats.new_requested.connect(chat.new_chat)
        chats.opened.connect(chat.open_chat)
        chats.delete_requested.connect(chat.delete_chat)
        chats.rename_requested.connect(chat.rename_chat)
        chat.conversations_changed.connect(self._on_conversations_changed)
        chat.conversation_opened.connect(self._on_conversation_opened)

    def _connect_messages(self) -> None:
        view, chat = self._place.chat_view, self._chat
        view.regenerate_requested.connect(chat.regenerate)
        view.edit_requested.connect(chat.edit)
        view.delete_requested.connect(chat.delete_message)
        view.continue_requested.connect(chat.continue_answer)
        view.version_requested.connect(chat.show_version)
        chat.version_shown.connect(view.message_list.come_back_to)
        view.stop_requested.connect(chat.stop)
        view.reload_requested.connect(self._model.reload)
        view.step_requested.connect(self._on_step_requested)
        view.pick_requested.connect(self._parts.window.model_bar.pick_requested)
        view.report_requested.connect(lambda key: copy_report(self._parts, self._view_of(key)))
        view.details_requested.connect(self._on_details_requested)
        view.link_requested.connect(self._parts.desktop.open_link)
        view.copy_done.connect(self._on_copy_done)
        chat.items_reset.connect(self._on_items_reset)
        chat.item_added.connect(self._on_item_added)
        chat.item_finished.connect(self._on_item_finished)
        chat.item_removed.connect(self._on_item_removed)
        chat.text_streamed.connect(self._on_text_streamed)

    def _connect_box(self) -> None:
        composer, chat = self._place.composer, self._chat
        composer.send_requested.connect(chat.send)
        composer.send_refused.connect(self._on_send_refused)
        composer.stop_requested.connect(chat.stop)
        chat.text_returned.connect(self._on_text_returned)
        chat.hint_given.connect(self._on_hint_given)
        chat.context_used.connect(self._on_context_used)

    @Slot(object)
    def _on_conversations_changed(self, conversations: tuple[ConversationSummary, ...]) -> None:
        self._conversations = conversations
        self._show_conversations()

    @Slot(object)
    def _on_conversation_opened(self, _conversation_id: int | None) -> None:
        self._show_conversations()
        self._place.composer.setFocus()

    def _show_conversations(self) -> None:
        self._parts.window.conversation_list.show_conversations(self._conversations, self._chat.current_id)

    @Slot(object)
    def _on_items_reset(self, items: Sequence[MessageItem]) -> None:
        self._coming = None
        focus = self._parts.window.focusWidget()
        if not items and focus is not None and self._place.chat_view.isAncestorOf(focus):
            self._place.composer.setFocus()
        self._place.chat_view.show_items(tuple(items))
        self._place.set_has_messages(bool(items))
        questions = [item.text for item in items if item.role == "user"]
        self._place.composer.set_last_message(questions[-1] if questions else "")

    @Slot(object)
    def _on_item_added(self, item: MessageItem) -> None:
        self._add_coming()
        if item.is_user:
            self._place.composer.set_last_message(item.text)
            self._add(item)
        else:  # it comes together with its question: both in one go would take twice as long
            self._coming = item
            self._later.start()

    @Slot()
    def _add_coming(self) -> None:
        item, self._coming = self._coming, None
        if item is not None:
            self._add(item)

    def _add(self, item: MessageItem) -> None:
        self._place.set_has_messages(True)
        self._place.chat_view.append_item(item)

    @Slot(object)
    def _on_item_finished(self, item: MessageItem) -> None:
        self._add_coming()
        self._place.chat_view.finish_item(item)

    @Slot(int)
    def _on_item_removed(self, message_id: int) -> None:
        self._add_coming()
        self._place.chat_view.remove_item(message_id)

    @Slot(int, object, str)
    def _on_text_streamed(self, message_id: int, kind: PieceKind, text: str) -> None:
        self._add_coming()
        self._place.chat_view.stream_text(message_id, kind, text)

    @Slot(str)
    def _on_text_returned(self, text: str) -> None:
        composer = self._place.composer
        written = composer.text()
        composer.set_text(f"{text}\n\n{written}" if written.strip() else text)

    @Slot()
    def _on_send_refused(self) -> None:
        self._on_hint_given(hint_for(self._model.view))

    @Slot(str)
    def _on_hint_given(self, key: str) -> None:
        self._parts.window.show_toast(self._parts.looks.look.text(key))

    @Slot()
    def _on_copy_done(self) -> None:
        self._parts.window.show_toast(self._parts.looks.look.text("ui.dialog.copied"))

    @Slot(str, object)
    def _on_undo_offered(self, key: str, undo: Callable[[], None]) -> None:
        look = self._parts.looks.look
        self._parts.window.show_toast(look.text(key), look.text("ui.toast.undo"), undo, is_undo=True)

    @Slot()
    def _on_step_requested(self) -> None:
        step = self._model.view.next_step
        if step is not None:
            self._model.load_step(step)

    @Slot(int)
    def _on_details_requested(self, message_id: int) -> None:
        parts = self._parts
        title = parts.looks.look.text("ui.report.title")
        TextDialog(parts.looks, title, report_text(parts, self._view_of(message_id)), parts.window).open()

    @Slot(int, object)
    def _on_answer_failed(self, message_id: int, failure: Finding) -> None:
        self._failed.note(message_id, failure, self._model.view, self._model.log_tail)

    def _view_of(self, message_id: int) -> ModelView:
        """Return the model as it was when this answer broke off."""
        return self._failed.view(message_id) or self._model.view

    @Slot(object)
    def _on_context_used(self, tokens: int | None) -> None:
        self._used_tokens = tokens
        self._show_context()

    @Slot(object)
    def _on_view_changed(self, view: ModelView) -> None:
        self._failed.see(view)
        self._show_context()

    def _show_context(self) -> None:
        loaded = self._model.view.loaded
        total = None if loaded is None else loaded.context_length
        self._place.composer.set_context_use(self._used_tokens, total)
        self._parts.window.status_bar.set_context_use(self._used_tokens, total)
