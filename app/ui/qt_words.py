"""Qt's own words (file dialogs, menus of text boxes) in the window's language."""

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QObject, QTranslator


class QtWords(QObject):
    """Installs Qt's own translation; where there is none Qt speaks English."""

    def __init__(self, application: QCoreApplication) -> None:
        super().__init__(application)
        self._application = application
        self._translator: QTranslator | None = None
        self._language: str | None = None

    def set_language(self, language: str) -> None:
        """Let Qt speak another language from now on."""
        if language == self._language:
            return
        self.close()
        self._language = language
        translator = QTranslator(self)
        folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        if not language.startswith("en") and translator.load(f"qtbase_{language}", folder):
            self._application.installTranslator(translator)
            self._translator = translator

    def close(self) -> None:
        """Let Qt speak English again."""
        self._language = None
        if self._translator is not None:
            self._application.removeTranslator(self._translator)
            self._translator = None
