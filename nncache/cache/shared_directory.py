"""Choose the directory that replaces several writes of one owner who has used up their share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from nncache.hadoop.paths import ROOT, ancestors, depth


def shared_directory_of(places: Iterable[str | None]) -> str | None:
    """Return the directory in which most of these writes make something; None if they lie in different top directories.

    `places` are the directories in which each does, None for the root's own. Where no two writes are in one directory
    it is the deepest that holds several.
    """
    inner = [place for place in places if place is not None and place != ROOT]
    ((directory, writes),) = Counter(inner).most_common(1) or [(ROOT, 0)]
    if writes > 1:
        return directory
    held = Counter(each for place in inner for each in (place, *ancestors(place)[:-1]))
    return max((each for each, writes in held.items() if writes > 1), key=depth, default=None)
