"""Wiring, start and supervision of the daemons: proxy, publisher and DNS. (nncache/daemons/)"""
