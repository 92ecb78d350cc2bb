"""The story, a chapter a module: what is done, and how what was seen is judged."""
