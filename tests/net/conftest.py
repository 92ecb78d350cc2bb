"""How hypothesis runs here."""

from hypothesis import settings

# A busy machine is slow at times; how much work is done is counted where it matters, never timed.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
