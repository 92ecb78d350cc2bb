"""Measurements of single parts, each with a peer beside it in the same run."""
