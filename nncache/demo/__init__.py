"""`make demo`: a real cluster, publisher and proxy, and a story that checks itself. (demo/)"""
