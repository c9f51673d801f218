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


def fine_bytes(size_bytes: int) -> str:
    """Return bytes as everywhere, but some megabytes with a digit more: experts differ by less than one."""
    megabytes = size_bytes / 1024**2
    return f"{megabytes:.1f} MB" if 1 <= megabytes < 100 else format_bytes(size_bytes)


def range_text(least: int, most: int) -> str:
    """Return a range of bytes; one figure where both read the same."""
    low, high = fine_bytes(least), fine_bytes(most)
    if low == high:
        return high
    number, unit = low.split()
    return f"{number if high.endswith(unit) else low} – {high}"
