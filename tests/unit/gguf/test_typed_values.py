"""Values stored in the wrong type: what they mean in the right one, where they mean anything."""

import pytest

from app.gguf.header_patch import stored_value
from app.gguf.typed_values import MOST_F32, as_type


@pytest.mark.parametrize("number", [0.0, 1.5, -1e4, MOST_F32, -MOST_F32, 2.0**-149])
def test_a_number_that_fits_is_itself(number: float) -> None:
    assert as_type("f32", number) == number
    assert len(stored_value("f32", number)) == 8


@pytest.mark.parametrize(
    "number", [-5.486124068793691e303, 3.5e38, 1e-300, float("inf"), float("nan"), "1e999", 10**400]
)
def test_a_number_beyond_32_bits_means_nothing(number: float | str | int) -> None:
    assert as_type("f32", number) is None


@pytest.mark.parametrize(("stored", "meant"), [(8.0, 8), ("8", 8), (8.5, None), (-1, None), (2**32, None)])
def test_a_count_is_a_whole_number_of_32_bits(stored: float | str | int, meant: int | None) -> None:
    assert as_type("u32", stored) == meant
