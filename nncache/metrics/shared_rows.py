"""What both daemons have, or may have. (nncache/metrics/shared_rows.py)"""

from nncache.metrics.metric import Metric, counter, gauge

SHARED_ROWS: tuple[Metric, ...] = (
    # ---- hadoop: the pool of NameNodes
    gauge("pool.namenodes", "namenodes", "NameNodes", "NameNodes configured."),
    gauge("pool.reachable", "namenodes_reachable", "NameNodes", "NameNodes that answer now."),
    gauge(
        "pool.has_active",
        "namenode_active_known",
        "0 or 1",
        "Whether exactly one NameNode is known to be active.",
    ),
    gauge("pool.term", "namenode_term", "term", "Counts up with each other, or restarted, active NameNode."),
    counter("pool.probes", "namenode_probes", "probes", "Questions to NameNodes whether they are active."),
    counter("pool.failed_probes", "namenode_probes_failed", "probes", "Such questions without an answer."),
    counter(
        "pool.suspicions", "namenode_suspicions", "errors", "Errors that had all NameNodes probed at once."
    ),
    # ---- invalidation: what reading the edits does and costs the NameNode
    counter("polling.polls", "channel_polls", "polls", "Polls of the edits answered."),
    counter("polling.polls_found", "channel_polls_found", "polls", "Polls that brought transactions."),
    counter("polling.polls_failed", "channel_polls_failed", "polls", "Polls without an answer."),
    counter(
        "polling.polls_distrusted",
        "channel_polls_distrusted",
        "polls",
        "Answers thrown away: who gave them?",
    ),
    counter("polling.poll_s", "channel_poll_seconds", "seconds", "What answered polls took."),
    counter(
        "polling.poll_charged_s",
        "channel_poll_charged_seconds",
        "seconds",
        "Cost to one NameNode core, reckoned.",
    ),
    gauge(
        "polling.poll_budget_s",
        "channel_poll_budget_seconds",
        "seconds",
        "Left of poll_budget_share; may be < 0.",
    ),
    counter("polling.rolls", "channel_rolls", "calls", "Calls of rollEdits that succeeded."),
    counter(
        "polling.rolls_failed",
        "channel_rolls_failed",
        "calls",
        "Calls of rollEdits refused or failed.",
    ),
    counter(
        "polling.reconnects",
        "channel_reconnects",
        "connections",
        "Connections renewed without losing a change.",
    ),
)
