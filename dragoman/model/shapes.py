"""The glossary of shapes: the meaning of each letter in the signatures.

| letter  | meaning                                                               |
|---------|-----------------------------------------------------------------------|
| B       | sentences of a batch; rows, if each sentence has one                  |
| R       | rows: hypotheses, those of a sentence next to each other              |
| S       | source positions, padding and end symbol included                     |
| T       | target positions, padding and end symbol included; rows of a sentence |
| W       | positions in a window; size that features are mapped to; rows of a    |
|         | sentence in a search (beam width)                                     |
| E       | size of an embedding                                                  |
| H       | size of an encoder state (both directions together)                   |
| D       | size of a state: of the decoder, of a cell at a position              |
| Q       | size of a query                                                       |
| A       | size of an attention key                                              |
| C       | size of a context vector (0 without attention); columns of a          |
|         | prediction (candidate symbols)                                        |
| F       | size of features: for the output layer, of terms for a score, of a    |
|         | region in a batch, where R counts the regions                         |
| V       | symbols of the target vocabulary                                      |
| N       | real target symbols of a batch, without padding; sentences            |
| G       | gates of a cell times its size                                        |
| K       | heads of attention; cells of an external memory                       |
| P       | size of a head's query, key or value; proposals of a sentence         |
| I, O, M | sizes of the input and output of a linear map                         |
| X       | any size                                                              |

The annotations are jaxtyping's; they are checked at run time by the tests only, and cost users nothing.
"""

from jaxtyping import Bool, Float, Int

__all__ = ["Bool", "Float", "Int"]
