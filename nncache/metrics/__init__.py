"""The metrics of all daemons: one table, read from the rooms' figures at scrape."""
