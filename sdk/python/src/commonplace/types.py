"""The types of what the API takes and answers. Records are dictionaries."""

from .generated.types import *  # noqa: F403
