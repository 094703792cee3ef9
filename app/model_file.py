"""A model in a file of its own: for a backup, or for another device of the same person."""

from __future__ import annotations

from pathlib import Path

import msgspec

from app.model_versions import Model, ModelRecord, from_record, to_record
from app.paths import write_private
from foltr.errors import ModelError


def export_model(model: Model, path: Path) -> None:
    """Write the model as JSON, readable by its owner only; ModelError when that is not possible."""
    content = msgspec.json.format(msgspec.json.encode(to_record(model)), indent=1) + b"\n"
    try:
        write_private(path, content)
    except OSError as error:
        raise ModelError(f"cannot write {path}: {error.strerror}") from error


def import_model(path: Path, *, feature_names: tuple[str, ...], manifest_hash: str, by_name: bool = False) -> Model:
    """The model in a file, for the features of this program.

    Raises ModelError when the file is no model, or was made for other features; `by_name` then keeps the weights of
    those features that have the same name here.
    """
    try:
        record = msgspec.json.decode(path.read_bytes(), type=ModelRecord)
    except OSError as error:
        raise ModelError(f"cannot read {path}: {error.strerror}") from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ModelError(f"{path} is no model of foltr-search: {error}") from error
    model = from_record(record, str(path))
    if model.manifest_hash == manifest_hash:
        if model.feature_names != feature_names:
            raise ModelError(f"{path} names its features otherwise than the manifest {manifest_hash} it claims")
        return model
    if not by_name:
        raise ModelError(
            f"{path} was made for other features (manifest {model.manifest_hash}, this program has {manifest_hash}); "
            f"importing by name would keep {len(set(model.feature_names) & set(feature_names))} of "
            f"{len(model.feature_names)} weights"
        )
    return model.carried_over(feature_names, manifest_hash)
