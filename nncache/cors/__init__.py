"""CORS: reads by pages of other origins."""
