"""The operators' view of the edits: which source is read, and the state of its JournalNodes."""

from nncache.invalidation.stats import ChannelStats


def edits_view(channel: ChannelStats) -> dict[str, object]:
    """Return the view as JSON, for /status."""
    journal = channel.journal
    return {
        "source": channel.source or None,
        "passed_over": [{"source": source, "why": why} for source, why in channel.passed_over.items()],
        "epoch": journal.epoch or None,
        "discarded": journal.discarded,
        "journalnodes": [
            {
                "address": address,
                "is_counted": bool(is_counted),
                "why_not": journal.troubles.get(address, ""),
                "behind_txids": journal.behind_txids.get(address),
            }
            for address, is_counted in journal.counted.items()
        ],
    }
