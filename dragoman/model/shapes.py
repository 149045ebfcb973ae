"""The glossary of shapes: what a letter means wherever it stands in a signature.

| letter | meaning                                                          |
|--------|------------------------------------------------------------------|
| B      | rows: sentences of a batch, or hypotheses of a beam              |
| S      | source positions, padding and end symbol included                |
| T      | target positions, padding and end symbol included                |
| E      | size of an embedding                                             |
| H      | size of an encoder state (both directions together)              |
| D      | size of a decoder state                                          |
| C      | size of a context vector (0 without attention)                   |
| A      | size of an attention key                                         |
| F      | size of the features that the output layer reads                 |
| V      | symbols of the target vocabulary                                 |
| N      | real target symbols of a batch, padding left out; sentences      |
| G      | gates of a cell times its size                                   |
| K      | heads of attention; cells of an external memory                  |
| P      | size of a head's query, key or value                             |

The annotations are jaxtyping's; the tests check them at run time, users never pay for them.
"""

from jaxtyping import Bool, Float, Int

__all__ = ["Bool", "Float", "Int"]
