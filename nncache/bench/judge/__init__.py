"""The judge: what one mode did and which of its answers were wrong, from its Parquet alone. (bench/judge/)

It knows nothing of the system that it judges: it reads the four tables of one mode (bench/shared/tables.py) and joins
them with Spark SQL. These are its rules; `verdicts.py` has the first three, `lateness.py` the fourth, `reduction.py`
the rest. All times are seconds on the driver's clock from the beginning of the measured time.

**States.** The rows of `changes` of one path, in the order of `acked_s` (then of `change_id`), are the states that
the path went through. Each began at some moment between its `sent_s` and its `acked_s`, and ended at some moment
between the next one's `sent_s` and `acked_s`; the last never ended. What a state says is its status and digest; of 403
the status alone. Changes of one path must not overlap, or its states are not known; nothing here finds that out.

**Verdicts.** Each reply (status neither 0 nor 5xx) says a status and a digest. It is

- *fresh* if a state that says the same may have been true at some moment between its `sent_s` and `replied_s`;
- else *stale*, but allowed, if one may have been true at some moment not more than `bound_s` before its `sent_s`;
- else *wrong*.

"May have been" takes the earliest beginning and the latest end of a state, and lets each time of a poll be off by the
row's `clock_error_s` and 1 ms. The age of a reply that is not fresh is the time from the latest end of such a state to
its `sent_s`, if several had said the same, of the one that ended last; states which began after the reply do not
count. A wrong reply of no such state has no age: the NameNode never had it.

**Open files.** From its creation to its closing a file has statuses that were not written down. So a 200 with the
`file_id` of a change of kind `create` is also judged as if it said a state that began with this change's `sent_s` and
ended with its `acked_s`: fresh in its flight, stale for `bound_s` after it. It never gives a wrong reply its age.

**Lateness.** A reply shows a change if the latest state which says the same, and which began before the reply, is
the change's own or a later one; an open file does not show its creation. Each change and each poller that has polled
its path make one lateness: from `acked_s` until the poller's first reply that shows it was complete, 0 if that was
earlier. A poller that never saw it counts until the end of the measured time, so that what is never shown is not left
out. Changes count if their `acked_s` is at least 0 and leaves two periods and the bound until the end; where no time is
left for that, as with a long bound in a short run, if it leaves one period.

**Measured time.** Polls that were due at or after 0 and before the end count for everything but lateness, which takes
all of them. Failed are those that were sent and got no reply, or one of 5xx; latency and hits are of all other replies.
The generator's own lateness is of the polls whose poller's poll before (by `due_s`) was over when they were due.
"""
