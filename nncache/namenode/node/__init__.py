"""The NameNode around the rules: it reads the store, commits to it, keeps time, and serves calls."""
