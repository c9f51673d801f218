"""What was known when an answer broke off: its report stays its own, whatever the model does later. No Qt."""

from dataclasses import replace
from typing import Final

from app.findings import Finding
from app.ui.model_view import ModelPhase, ModelView

_KEPT: Final = 50


class FailedAnswers:
    """The views of the model at the failures of this run, by message id."""

    def __init__(self) -> None:
        self._views: dict[int, ModelView] = {}
        self._newest: int | None = None  # while more may become known of it

    def note(self, message_id: int, failure: Finding, view: ModelView, log_tail: tuple[str, ...]) -> None:
        """Keep what is known as an answer breaks off."""
        self._views.pop(message_id, None)
        self._views[message_id] = replace(view, failure=failure, log_tail=view.log_tail or log_tail)
        for oldest in list(self._views)[:-_KEPT]:
            del self._views[oldest]
        self._newest = message_id

    def see(self, view: ModelView) -> None:
        """Take a later view: an engine's death is told after that of its answer."""
        known = self._views.get(self._newest) if self._newest is not None else None
        if known is None or self._newest is None:
            return
        if view.phase is ModelPhase.FAILED and view.failure == known.failure:
            self._views[self._newest] = replace(view, log_tail=view.log_tail or known.log_tail)
        elif view.phase is not known.phase:
            self._newest = None

    def view(self, message_id: int) -> ModelView | None:
        """Return the view an answer broke off with; None when it did not in this run."""
        return self._views.get(message_id)
