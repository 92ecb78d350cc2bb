"""Check what a daemon is told before and after it is started: `nncache check`. (nncache/checks/)

Facts are gathered by the probes, judged by pure modules, and neither writes anything anywhere.
"""
