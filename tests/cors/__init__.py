"""Reads by pages of other origins: CORS."""
