"""Checkpoints of other programs: a module for each format reads files, and maps their tensors and options to ours."""
