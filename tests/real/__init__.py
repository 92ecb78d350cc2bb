"""The harness of all tests against real servers.

`stand` runs a proxy in front of a cluster; `beside` runs work in threads and processes; `faults` breaks servers and
connections for a while; `command` is the frame of each `python -m tests.X`; `figures` aggregates and prints figures.
"""
