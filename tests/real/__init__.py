"""One harness for all that runs against real servers.

`stand` puts a proxy in front of a cluster; `beside` is what goes on meanwhile, in threads and processes; `faults` break
servers and connections for a while; `command` is the frame of each `python -m tests.X`; `figures` sums up and prints.
"""
