"""The details of one model: sizes in a card, and below it template, tensors or metadata."""

from collections.abc import Iterator
from typing import Final

from PySide6.QtWidgets import QStackedWidget, QWidget

from app.ui.theme.look import LookSource
from app.ui.views.model_details.facts import ModelDetailsFacts
from app.ui.views.model_details.metadata_section import MetadataSection
from app.ui.views.model_details.sizes_card import SizesCard
from app.ui.views.model_details.table_section import TableSection
from app.ui.views.model_details.template_section import TemplateSection
from app.ui.views.model_details.tensor_section import TensorSection
from app.ui.widgets.controls import Segmented
from app.ui.widgets.layouts import card, column, row

TEMPLATE: Final = "template"
TENSORS: Final = "tensors"
METADATA: Final = "metadata"
SECTIONS: Final = (TEMPLATE, TENSORS, METADATA)


class ModelDetails(QWidget):
    """Shows what `controllers/model_details_job.py: details_of` found; empty without it."""

    def __init__(self, looks: LookSource) -> None:
        super().__init__()
        self._looks = looks
        self.sizes = SizesCard(looks)
        self.template = TemplateSection(looks)
        self.tensors = TensorSection(looks)
        self.metadata = MetadataSection(looks)
        self.choice = Segmented(looks)
        self._stack = QStackedWidget()
        for section in (self.template, self.tensors, self.metadata):
            self._stack.addWidget(section)
        self._depth = card(column(row(self.choice, None), self._stack, gap=12))
        self.setLayout(column(self.sizes, self._depth, gap=12))
        self.choice.chosen.connect(self.show_section)
        looks.changed.connect(self._set_words)
        self._set_words()
        self.show_section(TEMPLATE)
        self.show_model(None)

    def show_model(self, details: ModelDetailsFacts | None) -> None:
        """Show a model; None shows nothing. What is typed to search stays."""
        for _ in self.show_in_steps(details):
            pass

    def prepare(self) -> Iterator[None]:
        """Make what a model will need."""
        yield from self.sizes.prepare()

    def show_in_steps(self, details: ModelDetailsFacts | None) -> Iterator[None]:
        """Do the same, a section at a step."""
        for part in (self.sizes, self._depth):
            part.setVisible(details is not None)
            yield
        if details is None:
            return
        yield from self.sizes.show_in_steps(details)
        self.template.show_template(details.template)
        yield
        self.tensors.show_tensors(details.tensors)
        yield
        self.metadata.show_metadata(details.metadata, details.metadata_problem)

    @property
    def searched(self) -> TableSection | None:
        """The table in front, which can be searched; None for the template."""
        section = self._stack.currentWidget()
        return section if isinstance(section, TableSection) else None

    def show_section(self, key: str) -> None:
        """Bring one of `SECTIONS` to the front."""
        self.choice.set_current(key)
        self._stack.setCurrentIndex(SECTIONS.index(key))

    def _set_words(self) -> None:
        look = self._looks.look
        self.choice.set_items([(key, look.text(f"ui.details.tab.{key}")) for key in SECTIONS])
