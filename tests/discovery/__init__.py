"""A proxy comes, is found by name in every way, and goes. (tests/discovery/)"""
