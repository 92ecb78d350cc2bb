"""The settings of each command, read from a TOML file, the environment and flags. (nncache/settings/)"""
