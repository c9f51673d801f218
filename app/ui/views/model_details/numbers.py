"""Counts as people say them: 3.0 B parameters, 32k tokens."""

from app.texts import NO_VALUE, format_bytes


def parameters_text(count: int | None) -> str:
    """Return a count of parameters: `110 B`, `3.0 B`, `812 M`."""
    if count is None:
        return NO_VALUE
    for unit, size in (("B", 10**9), ("M", 10**6)):
        if count >= size:
            shown = count / size
            return f"{shown:.0f} {unit}" if shown >= 99.5 else f"{shown:.1f} {unit}"
    return f"{count:,}"


def context_text(tokens: int | None) -> str:
    """Return a context: `32k`, `40k`, `10M`; a small or odd one as it is."""
    if tokens is None:
        return NO_VALUE
    if tokens >= 1024**2 and tokens % 1024**2 == 0:
        return f"{tokens // 1024**2}M"
    return f"{tokens // 1024}k" if tokens >= 1024 and tokens % 1024 == 0 else f"{tokens:,}"


def bits_text(bits: float | None) -> str:
    """Return bits per weight with two digits."""
    return NO_VALUE if bits is None else f"{bits:.2f}"


def range_text(least: int, most: int) -> str:
    """Return a range of bytes; one figure where both read the same."""
    low, high = format_bytes(least), format_bytes(most)
    return high if low == high else f"{low} – {high}"
