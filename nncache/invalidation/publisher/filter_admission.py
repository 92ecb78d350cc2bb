"""Leave out of the filters in HDFS those that are refused.

The rules are those of `nncache.invalidation.filters.admission`. What is refused is treated like a broken definition:
what is published of it stays. What others may have written (`nncache.invalidation.filters.trust`) is refused, too, and
what is published of it is removed: caches forget it, and calls are forwarded.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.filters.admission import refusals
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.settings import FilterSettings
from nncache.invalidation.publisher.filter_follower import ReadFilters

MAX_LOGGED: Final = 20
"""Filters that the log names each time some are refused."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AdmittedFilters:
    """The filters in HDFS as far as they may be published."""

    filters: Mapping[str, Filter]
    broken: Mapping[str, str]  # those beyond the limits, too


class FilterAdmission:
    """Says which filters may be published. It outlasts the publisher's runs: each refusal is logged once."""

    def __init__(self, limits: FilterSettings) -> None:
        self._limits = limits
        self.refused: Mapping[str, str] = {}
        """Why, by name, as of the last `admit`."""

    def admit(self, stored: ReadFilters, in_force: Mapping[str, PublishedFilter]) -> AdmittedFilters:
        """Return the filters without those that are refused beside those that are in force."""
        untrusted = {name: str(why) for name, why in stored.untrusted.items()}
        trusted = {name: each for name, each in stored.filters.items() if name not in untrusted}
        placed = in_force.keys() & ((trusted.keys() | stored.broken.keys()) - untrusted.keys())
        beyond = refusals(
            trusted,
            self._limits,
            globs={name: each.path_glob for name, each in in_force.items()},
            placed=placed,
            owned=placed,
        )
        refused = {**beyond, **untrusted}
        news = sorted(refused.items() - self.refused.items())
        self.refused = refused
        for name, reason in news[:MAX_LOGGED]:
            kept = "it is not published"
            if name in in_force:
                kept = f"what is published of it {'is removed' if name in untrusted else 'stays'}"
            _log.warning("filter %s is refused, %s: %s", name, kept, reason)
        if len(news) > MAX_LOGGED:
            _log.warning("%d more filters are refused; the status page names them", len(news) - MAX_LOGGED)
        return AdmittedFilters(
            {name: each for name, each in trusted.items() if name not in beyond},
            {name: why for name, why in {**stored.broken, **beyond}.items() if name not in untrusted},
        )
