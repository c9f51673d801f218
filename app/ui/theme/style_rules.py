"""Rules of the style sheet: `$name` is a colour of the palette or a weight, `dp` a length that grows with the
text."""

from typing import Final

FRAMES: Final = """
* { outline: none; }
QWidget { color: $text; }
QMainWindow, QDialog, QWidget[surface="window"] { background: $window; }
QFrame[surface="surface"] { background: $surface; }
QFrame[surface="sunken"] { background: $sunken; border: 1px solid $border; border-radius: 10px; }
QFrame[surface="card"] { background: $raised; border: 1px solid $border; border-radius: 12px; }
QFrame[surface="card"][selected="true"] { border: 2px solid $accent; }
QFrame[surface="dialog"], QDialog[surface="dialog"] { background: $raised; }
QFrame[surface="toast"] { background: $raised; border: 1px solid $border_strong; border-radius: 10px; }
QFrame[surface="bubble"] { background: $hover; border-radius: 14px; }
QFrame[surface="composer"] { background: $raised; border: 1px solid $border_strong; border-radius: 14px; }
QFrame[surface="composer"][focused="true"] { border: 2px solid $accent; }
QFrame[surface="composer"] QPlainTextEdit, QFrame[surface="composer"] QTextEdit {
  background: transparent; border: none; padding: 0; font-size: 15dp; }
QFrame[surface="segmented"] { background: $sunken; border: 1px solid $border; border-radius: 8px; }
QFrame[rule="h"] { background: $border; max-height: 1px; min-height: 1px; border: none; }
QFrame[rule="v"] { background: $border; max-width: 1px; min-width: 1px; border: none; }
QFrame[row="selected"] { background: $accent_soft; border-radius: 8px; }
QFrame[row="plain"]:hover { background: $hover; border-radius: 8px; }
QFrame[drop="true"] { background: transparent; border: 1.5px dashed $control; border-radius: 12px; }
QLabel { background: transparent; }
QLabel[chip="neutral"] { background: $hover; color: $text_soft; }
QLabel[key="true"] { color: $text_faint; border: 1px solid $border_strong; border-radius: 4px;
  padding: 0 4px; font-size: 12dp; }
QToolTip { background: $raised; color: $text; border: 1px solid $border_strong; padding: 6px 8px;
  font-size: 13dp; }
"""

TONES: Final = """
QFrame[tone="@tone"] { background: $@tone_soft; border: none; border-radius: 10px; }
QLabel[chip="@tone"] { background: $@tone_soft; color: $@tone_text; }
"""

CONTROLS: Final = """
QLabel[chip] { border-radius: 9px; padding: 2px 8px; min-height: 16dp; }
QPushButton { font-size: 14dp; font-weight: $medium; border-radius: 8px; padding: 0 14px;
  min-height: $h_normal; }
QPushButton[measure="compact"] { min-height: $h_compact; padding: 0 10px; font-size: 13dp; }
QPushButton[measure="large"] { min-height: $h_large; padding: 0 18px; }
QPushButton[kind="primary"] { background: $accent; color: $on_accent; border: 1px solid $accent;
  font-weight: $strong; }
QPushButton[kind="primary"]:hover { background: $accent_hover; border-color: $accent_hover; }
QPushButton[kind="primary"]:pressed { background: $accent_pressed; border-color: $accent_pressed; }
QPushButton[kind="secondary"] { background: $raised; color: $text; border: 1px solid $border_strong; }
QPushButton[kind="secondary"]:hover { background: $hover; }
QPushButton[kind="secondary"]:pressed { background: $pressed; }
QPushButton[kind="danger"] { background: $danger; color: $on_danger; border: 1px solid $danger;
  font-weight: $strong; }
QPushButton[kind="danger"]:hover { background: $danger_hover; border-color: $danger_hover; }
QPushButton[kind="danger"]:pressed { background: $danger; border-color: $text; }
QPushButton[kind="ghost"] { background: transparent; color: $text_soft; border: 1px solid transparent; }
QPushButton[kind="ghost"]:hover, QPushButton[kind="ghost"]:checked { background: $hover; color: $text; }
QPushButton[kind="ghost"]:pressed { background: $pressed; }
QPushButton[kind="link"] { background: transparent; color: $accent_text; border: 1px solid transparent;
  border-radius: 6px; padding: 0 4px; }
QPushButton[kind="link"]:hover { background: $hover; }
QPushButton[kind="link"]:pressed { background: $pressed; }
QPushButton[kind="segment"] { background: transparent; color: $text_soft; border: 1px solid transparent;
  border-radius: 6px; padding: 0 9px; min-height: 22dp; font-size: 13dp; }
QPushButton[kind="segment"]:hover { color: $text; }
QPushButton[kind="segment"]:checked { background: $raised; color: $text; border-color: $border_strong;
  font-weight: $strong; }
QPushButton:disabled { background: $sunken; color: $text_faint; border: 1px solid $border; }
QPushButton[kind="ghost"]:disabled, QPushButton[kind="link"]:disabled, QPushButton[kind="segment"]:disabled {
  background: transparent; border-color: transparent; color: $text_faint; }
QPushButton[kind="primary"][busy="true"]:disabled { background: $accent; color: $on_accent;
  border-color: $accent; }
QPushButton[kind="danger"][busy="true"]:disabled { background: $danger; color: $on_danger;
  border-color: $danger; }
QPushButton[kind="secondary"][busy="true"]:disabled { background: $raised; color: $text;
  border-color: $border_strong; }
QPushButton:focus, QPushButton[kind="ghost"]:focus, QPushButton[kind="secondary"]:focus {
  border: 2px solid $accent; padding: 0 13px; min-height: $f_normal; }
QPushButton[kind="primary"]:focus, QPushButton[kind="danger"]:focus { border: 2px solid $text; }
QPushButton[measure="compact"]:focus { min-height: $f_compact; padding: 0 9px; }
QPushButton[measure="large"]:focus { min-height: $f_large; padding: 0 17px; }
QPushButton[kind="link"]:focus { padding: 0 3px; }
QPushButton[kind="segment"]:focus { border: 2px solid $accent; padding: 0 8px; min-height: 20dp; }
QPushButton[iconOnly="true"] { padding: 0; min-width: 30dp; max-width: 30dp; min-height: 30dp;
  max-height: 30dp; }
QPushButton[iconOnly="true"]:focus { padding: 0; min-width: 28dp; max-width: 28dp; min-height: 28dp;
  max-height: 28dp; }
QPushButton[iconOnly="small"] { padding: 0; min-width: 26dp; max-width: 26dp; min-height: 26dp;
  max-height: 26dp; border-radius: 6px; }
QPushButton[iconOnly="small"]:focus { padding: 0; min-width: 24dp; max-width: 24dp; min-height: 24dp;
  max-height: 24dp; }
QPushButton[iconOnly="round"] { padding: 0; min-width: 32dp; max-width: 32dp; min-height: 32dp;
  max-height: 32dp; border-radius: 17dp; }
QPushButton[iconOnly="round"]:focus { padding: 0; min-width: 30dp; max-width: 30dp; min-height: 30dp;
  max-height: 30dp; }
QLineEdit, QAbstractSpinBox, QComboBox { background: $sunken; border: 1px solid $border_strong;
  border-radius: 8px; padding: 0 10px; min-height: $h_normal; font-size: 14dp;
  selection-background-color: $accent; selection-color: $on_accent; }
QPlainTextEdit, QTextEdit { background: $sunken; border: 1px solid $border_strong; border-radius: 8px;
  padding: 6px 8px; selection-background-color: $accent; selection-color: $on_accent; }
QLineEdit:hover, QAbstractSpinBox:hover, QComboBox:hover, QPlainTextEdit:hover, QTextEdit:hover {
  border-color: $control; }
QLineEdit:focus, QAbstractSpinBox:focus, QComboBox:focus { border: 2px solid $accent; padding: 0 9px;
  min-height: $f_normal; }
QPlainTextEdit:focus, QTextEdit:focus { border: 2px solid $accent; padding: 5px 7px; }
QLineEdit[wrong="true"], QAbstractSpinBox[wrong="true"] { border: 2px solid $danger; padding: 0 9px;
  min-height: $f_normal; }
QLineEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled, QPlainTextEdit:disabled {
  color: $text_faint; border-color: $border; }
QLineEdit[compact="true"] { min-height: $h_compact; padding: 0 8px; font-size: 13dp; }
QLineEdit[compact="true"]:focus { min-height: $f_compact; padding: 0 7px; }
QAbstractSpinBox QLineEdit { border: none; padding: 0; min-height: 0; background: transparent; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { width: 0; border: none; }
QComboBox::drop-down { border: none; width: 26dp; }
QComboBox::down-arrow { image: none; width: 0; height: 0; }
QComboBox QAbstractItemView { background: $raised; border: 1px solid $border_strong; padding: 4px;
  selection-background-color: $accent_soft; selection-color: $text; }
QComboBox QAbstractItemView::item { min-height: 28dp; padding: 0 8px; border-radius: 6px; }
"""

VIEWS: Final = """
QScrollArea, QAbstractScrollArea[surface="plain"] { background: transparent; border: none; }
QScrollArea > QWidget > QWidget { background: transparent; }
QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: $border_strong; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 36px; }
QScrollBar::handle:horizontal { min-width: 36px; }
QScrollBar::handle:hover, QScrollBar::handle:pressed { background: $control; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: none; }
QMenu { background: $raised; color: $text; border: 1px solid $border_strong; padding: 5px; font-size: 14dp; }
QMenu::item { padding: 6px 24px 6px 12px; border-radius: 6px; }
QMenu::item:selected { background: $hover; }
QMenu::item:disabled { color: $text_faint; }
QMenu::separator { height: 1px; background: $border; margin: 5px 8px; }
QSplitter::handle { background: $border; }
QTableView[surface="table"] { background: $raised; border: 1px solid $border; border-radius: 8px;
  padding: 3px; font-size: 13dp; selection-background-color: $accent_soft; selection-color: $text; }
QTableView[surface="table"]:focus { border: 2px solid $accent; padding: 2px; }
QTableView[surface="table"]::item { padding: 0 8dp; border-bottom: 1px solid $border; }
QTableView[surface="table"]::item:hover { background: $hover; }
QTableView[surface="table"]::item:selected { background: $accent_soft; color: $text; }
QTableView[surface="table"]::item:focus { border: 1px solid $accent; }
QTableView[surface="table"] QHeaderView { background: $raised; border: none; }
QTableView[surface="table"] QHeaderView::section { background: $raised; color: $text_soft; border: none;
  border-bottom: 1px solid $border_strong; padding: 5dp 11dp; font-size: 12dp; }
QTableView[surface="table"] QHeaderView::section:hover { background: $hover; color: $text; }
QTableView[surface="table"] QHeaderView::up-arrow { width: 0; height: 0; }
QTableView[surface="table"] QHeaderView::down-arrow { width: 0; height: 0; }
"""
