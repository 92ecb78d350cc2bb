"""The metrics of both daemons: one table, read from the rooms' figures at scrape."""
