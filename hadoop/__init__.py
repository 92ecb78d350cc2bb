"""How Hadoop talks: paths, globs, statuses, events, calls, RPC, and the pool of NameNodes. The ground of all rooms."""
