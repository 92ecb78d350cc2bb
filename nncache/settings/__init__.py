"""Settings from a TOML file and flags: how they are read, and which there are. (nncache/settings/)"""
