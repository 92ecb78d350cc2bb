"""Hadoop's formats and protocols: paths, globs, statuses, events, calls, RPC, the NameNode pool. All rooms use it."""
