"""A proxy starts, is found by name in every way, and drains. (tests/discovery/)"""
