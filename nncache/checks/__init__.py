"""Check the settings of a daemon before and after it is started: `nncache check`. (nncache/checks/)

Facts are gathered by the probes, judged by pure modules, and neither writes anything anywhere.
"""
