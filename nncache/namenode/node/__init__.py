"""The NameNode around the rules: reads from the store, commits to it, keeps time, serves the calls."""
