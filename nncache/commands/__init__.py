"""The command line: one module for each command and its output. (nncache/commands/)"""
