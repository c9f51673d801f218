"""How the window looks: tokens, style sheet, fonts, icons."""
