"""Write advice as files for other programs: filters and a workload. (nncache/advisor/outputs.py)

Pure.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from nncache.advisor.figures import Bracket, RecommendedFilter
from nncache.advisor.run import Advice, Load
from nncache.invalidation.channel.znodes import is_filter_name
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.filter_file import encode_filters

_MOST_NAME: Final = 60


def named(filters: Iterable[RecommendedFilter]) -> tuple[RecommendedFilter, ...]:
    """Return the filters with unique names derived from their globs."""
    found: dict[str, RecommendedFilter] = {}
    for each in filters:
        words = [word for word in re.split(r"[^A-Za-z0-9]+", each.glob) if word]
        stem = "-".join(words)[:_MOST_NAME].rstrip("-") or "filter"
        name, number = stem, 1
        while name in found or not is_filter_name(name):
            number += 1
            name = f"{stem}-{number}"
        found[name] = replace(each, name=name)
    return tuple(found.values())


def shares(advice: Advice, each: RecommendedFilter) -> Bracket:
    """Return the saving of a filter as a share of all reads of a status."""
    return each.saved.of(advice.statuses)


def percent(share: Bracket) -> str:
    """Return a share as text: one figure if both bounds look the same."""
    low, high = f"{100 * share.low:.1f}", f"{100 * share.high:.1f}"
    return f"{low} %" if low == high else f"{low} to {high} %"


def in_bytes(count: float) -> str:
    """Return a number of bytes as text."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:  # noqa: PLR2004 - as in the units' names
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def memory(each: Bracket) -> str:
    """Return the bounds of a number of bytes as text."""
    return f"{in_bytes(each.low)} to {in_bytes(each.high)}"


def filters_toml(advice: Advice) -> str:
    """Return the file for `nncache filters diff` and `apply`, with the saving and cost of each filter above it."""
    head = (
        f"# What nncache advise found in {advice.lines} lines. Owners and subscribers are left as they are.\n"
        "# A saving is a share of all reads of a status that the NameNode answered.\n"
    )
    parts = [head]
    for each in advice.filters:
        every = (
            ""
            if each.polled_every_s is None
            else f", each about every {each.polled_every_s:g} s by the same user"
        )
        entry = encode_filters([Filter(each.name, each.glob, "x")]).partition("\n\n")[2]
        entry = "".join(
            line for line in entry.splitlines(keepends=True) if not line.startswith(("owner", "subscribers"))
        )
        parts.append(
            f"\n# saves {percent(shares(advice, each))}: {each.reads} reads of {each.paths} paths{every}\n"
            f"# costs {memory(each.memory)} in a proxy\n{entry}"
        )
    return "".join(parts)


def workload_toml(advice: Advice) -> str:
    """Return the polls of the recommended filters as a workload of `bench/run_pollers.py`."""
    seconds = max(1.0, (advice.last_ms - advice.counted_from) / 1000)
    filters = [each for each in advice.filters if each.polled_every_s is not None]
    reads = sum(each.reads for each in filters)
    period_s = sum(each.reads * (each.polled_every_s or 0) for each in filters) / reads if reads else 1.0
    paths = sum(each.paths for each in filters)
    pollers = max(1, round(reads / seconds * period_s))
    return (
        f"# The polls of {len(filters)} filters that nncache advise recommends: {reads} reads in {seconds:.0f} s.\n"
        f'description = "What {len(filters)} recommended filters match: {reads / seconds:.0f} reads a second"\n'
        f"pollers = {pollers}\n"
        f"period_s = {period_s:.2f}\n"
        f"globs = {max(1, len(filters))}\n"
        f"paths = {max(1, len(filters), paths)}\n"
        f"paths_per_directory = 1\n"
        f'callers = "per_glob"\n'
        f"exist_share = 0.5\n"
        f"changes_per_s = {sum(each.changes for each in filters) / seconds:.3f}\n\n"
        "[kinds]\ncreate = 1.0\nrename = 3.0\ndelete = 2.0\ntouch = 2.0\n"
    )


class Pseudonyms:
    """Replaces user names and literal names in paths by keyed digests; equal names stay equal."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def name(self, text: str) -> str:
        """Return the digest of one name."""
        return "p" + hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()[:10]

    def glob(self, glob: str) -> str:
        """Return the pseudonym of a glob: wildcards stay, and so do names that begin with "_", such as _SUCCESS."""
        return "/".join(
            part if not part or part == "*" or part.startswith("_") else self._part(part)
            for part in glob.split("/")
        )

    def _part(self, part: str) -> str:
        return "*".join(self.name(text) if text else "" for text in part.split("*"))

    def advice(self, advice: Advice) -> Advice:
        """Return the advice with pseudonyms of users and paths."""
        return replace(
            advice,
            filters=named(replace(each, glob=self.glob(each.glob)) for each in advice.filters),
            loads=tuple(self._load(load) for load in advice.loads),
            ranger=tuple((self.name(user), access, count) for user, access, count in advice.ranger),
            refused={self.glob(glob): "beyond the limits of filters" for glob in advice.refused},
        )

    def _load(self, load: Load) -> Load:
        if load.title != "user":
            return load
        return replace(
            load, rows=tuple((self.name(name), calls, statuses) for name, calls, statuses in load.rows)
        )
