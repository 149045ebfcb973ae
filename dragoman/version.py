"""The version of dragoman."""

__version__ = "0.2.0"
