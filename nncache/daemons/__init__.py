"""The two daemons: their parts put together, run, and watched. (nncache/daemons/)"""
