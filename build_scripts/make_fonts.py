"""Makes the fonts in `resources/fonts` again: static instances of the variable Inter and JetBrains Mono.

Needs `python -m pip install fonttools fontpkg-inter fontpkg-jetbrains-mono`; run from the checkout:
`python build_scripts/make_fonts.py`. Static, because Qt does not take weights from variable fonts on every
system. Inter's `tnum` also widens spaces, hyphens and brackets; ours keeps to figures, so that it can be on
for all text.
"""

import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
OUT: Final = ROOT / "resources" / "fonts"
INTER: Final = ("fontpkg_inter", "Inter[opsz,wght].ttf")
JETBRAINS_MONO: Final = ("fontpkg_jetbrains_mono", "JetBrainsMono[wght].ttf")
FIGURES: Final = frozenset(
    {"zero", "one", "two", "three", "three.1", "four", "five", "six", "seven", "eight", "nine"}
)

INSTANCES: Final[Mapping[str, tuple[tuple[str, str], Mapping[str, float]]]] = {
    "Inter-Regular": (INTER, {"opsz": 14, "wght": 400}),
    "Inter-Medium": (INTER, {"opsz": 14, "wght": 500}),
    "Inter-SemiBold": (INTER, {"opsz": 14, "wght": 600}),
    "JetBrainsMono-Regular": (JETBRAINS_MONO, {"wght": 400}),
    "JetBrainsMono-Bold": (JETBRAINS_MONO, {"wght": 700}),
}
"""File name -> where the variable font lies, and its place on the axes."""


def main() -> int:
    """Write all instances."""
    try:
        from fontTools.ttLib import TTFont
        from fontTools.varLib import instancer
    except ImportError as missing:
        print(f"{missing.name} is missing; see the head of this script.", file=sys.stderr)
        return 2
    for name, ((package, file_name), axes) in INSTANCES.items():
        source = files(package) / "files" / file_name
        font = instancer.instantiateVariableFont(TTFont(str(source)), dict(axes), updateFontNames=True)
        _keep_figures_only(font["GSUB"].table)
        font.save(OUT / f"{name}.ttf")
        print(OUT / f"{name}.ttf")
    return 0


def _keep_figures_only(substitutions: Any) -> None:
    """Take from `tnum` every glyph that is no figure."""
    records = [record for record in substitutions.FeatureList.FeatureRecord if record.FeatureTag == "tnum"]
    for index in {index for record in records for index in record.Feature.LookupListIndex}:
        for table in substitutions.LookupList.Lookup[index].SubTable:
            single = getattr(table, "ExtSubTable", table)
            single.mapping = {old: new for old, new in single.mapping.items() if old in FIGURES}


if __name__ == "__main__":
    sys.exit(main())
