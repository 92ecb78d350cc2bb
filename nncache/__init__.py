"""Compose the rooms: command line, settings, metrics table, wiring.

The only room that reads files and the environment and builds the objects of the others.
"""
