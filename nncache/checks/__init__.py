"""Check the settings of a daemon before or after its start: `nncache check`. (nncache/checks/)

Probes gather the facts, and pure modules judge them. Neither writes anything to any server.
"""
