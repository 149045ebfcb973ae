"""The phrasebook: a grammar that samples sentences in English, French and German with their word alignments."""
