"""Whether gradients are derivatives, by finite differences."""

from dragoman.contracts.contract import require_derivative as assert_derivative

__all__ = ["assert_derivative"]
