"""How the CPU for each hit grows with filters, entries, callers and connections. (bench/growth/)"""
