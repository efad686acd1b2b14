"""Canonical texts of tags."""

import pytest

from ratings_core.records import tags
from ratings_core.records.tags import MAX_TAG_BYTES, MAX_TAGS, broken_tag, canonical_tags, canonical_text

LARGEST = {f"k{i}{'x' * 30}": '"' * MAX_TAG_BYTES for i in range(MAX_TAGS)}


def test_long_texts_are_read_like_short_ones_and_are_not_kept_in_memory() -> None:
    tags._kept_text.cache_clear()
    for spaces in (0, 1 << 12):
        for text, expected in ((b'{"b":"2",%s"a":"1"}', '{"a":"1","b":"2"}'), (b"{%s}", ""), (b'{"a":%s1}', None), (b"{%s", None)):
            assert canonical_text(text % (b" " * spaces)) == expected
    assert tags._kept_text.cache_info().currsize == 4, "only the short texts"


def test_the_largest_set_of_tags_in_its_canonical_text_is_kept() -> None:
    assert broken_tag(LARGEST) is None
    assert len(canonical_tags(LARGEST).encode()) <= tags._KEPT_BYTES


@pytest.mark.parametrize("text", [b'{"a":"b"', b"[]", b"null", b'{"a":null}', b'{"A":"b"}', b'{"a":"\\ud800"}', b'{"a":"\xff"}', b""])
def test_what_is_no_set_of_tags_has_no_canonical_text(text: bytes) -> None:
    assert canonical_text(text) is None
