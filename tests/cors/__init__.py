"""Pages of other origins: CORS."""
