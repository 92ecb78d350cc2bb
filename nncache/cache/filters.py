"""Which paths may be kept."""

from __future__ import annotations

from collections.abc import Mapping

from nncache.hadoop.globs import GlobSet


class Filters:
    """The filters in force: globs by the ids of their filters. An id is used for one glob and one time in force.

    Attributes:
        glob_of: each, by its id.
        globs: matches a path against all of them.
    """

    __slots__ = ("glob_of", "globs")

    def __init__(self, globs: Mapping[str, str], earlier: Filters | None = None) -> None:
        """Read the globs; raises GlobError if one of them is none.

        What matches the `earlier` ones is used again where they all go on: these must be asked no more.
        """
        self.glob_of = dict(globs)
        known = GlobSet({}) if earlier is None else earlier.globs
        self.globs: GlobSet = known.followed_by(self.glob_of)

    def go_on_in(self, later: Filters) -> bool:
        """Whether each of these is among the later ones too, so that no change of what it matches was missed.

        The same glob under another id was not in force all the time in between.
        """
        return self.glob_of.items() <= later.glob_of.items()
