"""The command line: one module for each command, and what it prints. (nncache/commands/)"""
