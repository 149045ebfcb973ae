"""The export of a run: its model as ONNX graphs in a folder, in float32 or with matrices of 8-bit integers."""

from pathlib import Path

import torch

from dragoman.data.language import is_only_text
from dragoman.deployment import tracing
from dragoman.deployment.engine import CONSTANTS, VERSION, Note, Precision, folder_of, needed
from dragoman.deployment.export_folder import name_weights
from dragoman.deployment.graphs import share_constants
from dragoman.errors import UserError
from dragoman.files.reading import compute_sha256
from dragoman.files.writing import write_atomically
from dragoman.model.decoder.decoder_input import PreviousSymbol
from dragoman.model.seq2seq import Seq2Seq
from dragoman.run.run import Run


def write(run: Run, weights: str | None = None, *, int8: bool = False) -> Path:
    """Write the graphs of a run with these weights into its folder, and return the folder of the graphs.

    Raises UserError if the extra `onnx` is missing, or if ONNX cannot express the model.
    """
    for module in ("onnx", "onnxscript", "onnxruntime"):
        needed(module)
    if not is_only_text(run.sources):
        raise UserError(f"{run.folder.path}: ONNX graphs are of models of one text; this one reads more, or numbers")
    config = run.config
    path = run.weights(weights)
    model, folder = run.model(weights), folder_of(run)
    if what := "a sentinel" if config.combines else unknown_part(model):
        raise UserError(f"{run.folder.path}: has {what}, of which ONNX graphs know nothing")
    folder.begin()
    try:
        graphs = tracing.trace(model)
    except torch.onnx.OnnxExporterError as error:
        raise UserError(f"{run.folder.path}: this model cannot be exported ({str(error).splitlines()[0]})") from error
    models = graphs.models(int8=int8)
    contents = {CONSTANTS: share_constants(models.values(), CONSTANTS)}
    contents |= {f"{name}.onnx": model.SerializeToString() for name, model in models.items()}
    files = {}
    for name, content in contents.items():
        with write_atomically(folder.path / name, "wb") as output:
            output.write(content)
        files[name] = compute_sha256(folder.path / name)
    precision: Precision = "int8" if int8 else "float32"
    note = Note(
        VERSION,
        name_weights(run, path),
        compute_sha256(path),
        precision,
        model.start_id,
        graphs.step_state,
        graphs.source_state,
        graphs.state_grows,
        files,
    )
    folder.write(note._asdict())
    return folder.path


def unknown_part(model: Seq2Seq) -> str:
    """Name a part of a model that the graphs cannot express: they have the decoder's step, and an output that reads
    features alone.
    """
    if not isinstance(model.inputs, PreviousSymbol):
        return "a cursor"
    for embedding in (model.target_embedding, *(source_encoder.embedding for source_encoder in model.source_encoders)):
        if embedding is not None and embedding.reads_characters:
            return "an embedding of characters"
    if not model.alignment_model.reads_one_step:
        return "hard attention of order: 1"
    return "" if model.output.portable else f"the output {type(model.output).__name__}"
