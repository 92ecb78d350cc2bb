"""The memory of texts; `test_store.py` measures objects."""

import sys

import pytest

from nncache.cache.sizes import blob_bytes, text_bytes


@pytest.mark.parametrize(
    "text", ["", "part-00000", "größe", "данные", "数据", "\N{ROCKET}", "x" * 8_000, "數" * 300]
)
def test_a_text_takes_what_the_interpreter_says(text: str) -> None:
    """CPython stores all characters of a text in one, two or four bytes each, as its widest character needs."""
    assert text_bytes(text) == sys.getsizeof(text)
    assert blob_bytes(text.encode()) == sys.getsizeof(text.encode())
