"""The judge: the figures of one mode and its wrong answers, from its Parquet tables alone. (bench/judge/)

It does not depend on the judged system: it reads the four tables of one mode (bench/shared/tables.py) and joins them
with Spark SQL. These are its rules; `verdicts.py` has the first three, `lateness.py` the fourth, `reduction.py` the
rest. All times are seconds on the driver's clock from the start of the measured time.

**States.** The rows of `changes` of one path, ordered by `acked_s` (then by `change_id`), are its successive states.
Each began at some time between its `sent_s` and its `acked_s`, and ended at some time between the next one's `sent_s`
and `acked_s`; the last never ended. A state says its status and digest; for 403 only the status. Changes of one path
must not overlap, or its states are unknown; the judge does not check this.

**Verdicts.** Each reply (status neither 0 nor 5xx) says a status and a digest. It is

- *fresh* if a state that says the same may have been true at some time between its `sent_s` and `replied_s`;
- else *stale*, but allowed, if one may have been true at some time not more than `bound_s` before its `sent_s`;
- else *wrong*.

"May have been" uses the earliest beginning and the latest end of a state, and allows each time of a poll an error of
the row's `clock_error_s` plus 1 ms. The age of a reply that is not fresh is the time from the latest end of a state
that says the same to its `sent_s`; of several states, the one that ended last counts. States that began after the reply
do not count. A wrong reply without such a state has no age: it never was the NameNode's answer.

**Open files.** Between its creation and its closing a file has statuses that no table records. So a 200 with the
`file_id` of a change of kind `create` is also judged against a state that began at this change's `sent_s` and ended at
its `acked_s`: fresh during the change, stale for `bound_s` after it. This state never gives a wrong reply its age.

**Lateness.** A reply shows a change if the latest state that says the same, and began before the reply, is the
change's own or a later one; an open file does not show its creation. Each change has one lateness for each poller that
has polled its path: from `acked_s` until the poller's first reply that shows it was complete, 0 if that was earlier. If
a poller never saw the change, its lateness lasts until the end of the measured time, so that unseen changes are
included. A change counts if its `acked_s` is at least 0 and at least two periods plus the bound before the end; in a
run too short for that, for example with a long bound, if it is at least one period before the end.

**Measured time.** Polls due at or after 0 and before the end count for everything except lateness, which takes all
polls. Failed polls were sent and got no reply, or a 5xx; latency and hits cover all other replies. The generator's own
lateness covers the polls whose poller's previous poll (by `due_s`) was complete when they were due.
"""
