"""How Hadoop talks: paths, globs, statuses, events, calls, RPC, and the pool of NameNodes. All rooms build on it."""
