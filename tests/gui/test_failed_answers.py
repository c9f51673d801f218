"""A failed answer keeps what was known when it broke off."""

from dataclasses import replace

from app.findings import FindingCode, error
from app.ui.failed_answers import FailedAnswers
from app.ui.model_view import ModelPhase, ModelView

KILLED = error(FindingCode.ENGINE_KILLED, exit_code=-9)
TOO_LONG = error(FindingCode.PROMPT_TOO_LONG, prompt_tokens=9_000, context_tokens=8_192)
BUSY = ModelView(phase=ModelPhase.GENERATING)
DEAD = ModelView(phase=ModelPhase.FAILED, failure=KILLED, log_tail=("the first death",))


def test_a_death_that_is_told_after_its_answer_belongs_to_it() -> None:
    answers = FailedAnswers()
    answers.note(1, KILLED, BUSY, ())
    answers.see(DEAD)
    assert answers.view(1) == DEAD


def test_a_reload_and_another_death_leave_the_first_alone() -> None:
    answers = FailedAnswers()
    answers.note(1, KILLED, BUSY, ("the first death",))
    answers.see(DEAD)
    answers.see(ModelView(phase=ModelPhase.LOADING))
    answers.see(replace(DEAD, log_tail=("the second death",)))
    assert answers.view(1) == DEAD


def test_a_failure_the_engine_survives_has_its_finding_and_the_log() -> None:
    answers = FailedAnswers()
    answers.note(1, TOO_LONG, BUSY, ("a line",))
    answers.see(ModelView(phase=ModelPhase.READY))
    known = answers.view(1)
    assert known is not None
    assert (known.failure, known.log_tail) == (TOO_LONG, ("a line",))
    assert answers.view(2) is None
