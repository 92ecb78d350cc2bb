"""Broken variants of the product, one changed line each: the check of its own guarantee must catch each."""
