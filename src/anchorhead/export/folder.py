"""A network as a folder: ``network.json``, which a person can read, and ``weights.safetensors``.

A network with a certificate has a third file, ``certificate.json``, which a person can read too.
The JSON tells the layers and names the arrays; it carries the SHA-256 of the weights' bytes and of
itself, so that a file that was cut off or changed is told from one that is whole. Nothing in either
file is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as parse_weights
from safetensors.numpy import save as serialize_weights

from anchorhead.errors import AnchorheadError, FileError
from anchorhead.layers import Attention, Head, Linear, Softmax, Term
from anchorhead.network import Network
from anchorhead.proof.certificate import Certificate

__all__ = ["load", "save"]

FORMAT = "anchorhead network"
VERSION = 1
DESCRIPTION, WEIGHTS = "network.json", "weights.safetensors"
CERTIFICATE = "certificate.json"
KINDS = {"linear": Linear, "attention": Attention, "softmax": Softmax}
PARTS = {"terms": Term, "heads": Head}


def save(network: Network, path: str | os.PathLike[str]) -> None:
    """Write the network to the folder ``path``, whole or not at all.

    A network that stands there already is replaced; anything else is left alone.

    Raises:
        FileError: Something else stands at ``path``, or the disk does not take the files.
    """
    place = _place(path)
    arrays: dict[str, np.ndarray] = {}
    layers = [_described(layer, f"layers.{i}", arrays) for i, layer in enumerate(network.layers)]
    weights = serialize_weights(arrays, metadata={"format": FORMAT})
    description = {
        "format": FORMAT,
        "version": VERSION,
        "shape_in": network.shape_in,
        "shape_out": network.shape_out,
        "weights": {"bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()},
        "layers": layers,
    }
    files = {WEIGHTS: weights}
    if network.certificate is not None:
        files[CERTIFICATE] = network.certificate.text.encode()
        description["certificate"] = hashlib.sha256(files[CERTIFICATE]).hexdigest()
    description["sha256"] = _digest(description)
    files[DESCRIPTION] = json.dumps(description, indent=1, ensure_ascii=False).encode()
    _replace_folder(place, files)


def load(path: str | os.PathLike[str]) -> Network:
    """The network saved in the folder ``path``, bit for bit.

    Raises:
        FileError: The folder is missing, is not a network, was cut off or changed, or was written
            by a newer version.
    """
    place = _place(path)
    description = _description(place)
    try:
        weights = (place / WEIGHTS).read_bytes()
    except OSError as error:
        raise FileError(
            f"{place / WEIGHTS} cannot be read ({error.strerror}); save again"
        ) from None
    expected = description.get("weights")
    if expected != {"bytes": len(weights), "sha256": hashlib.sha256(weights).hexdigest()}:
        raise FileError(f"{place / WEIGHTS} was cut off or changed since it was saved; save again")
    certificate = _certificate(place, description.get("certificate"))
    try:
        arrays = parse_weights(weights)
        layers = tuple(
            _rebuilt(layer, KINDS[layer["kind"]], arrays) for layer in description["layers"]
        )
        network = Network(layers, certificate)
        if [list(network.shape_in), list(network.shape_out)] != [
            description["shape_in"],
            description["shape_out"],
        ]:
            raise FileError("its layers have other shapes than it says")
    except (AnchorheadError, SafetensorError, LookupError, TypeError, ValueError) as error:
        raise FileError(f"{place} does not describe a network ({error}); save again") from None
    except AttributeError:
        raise FileError(f"{place} does not describe a network; save again") from None
    return network


def _certificate(place: Path, expected: Any) -> Certificate | None:
    """The certificate that was saved with the network, if one was."""
    if expected is None:
        return None
    file = place / CERTIFICATE
    try:
        text = file.read_bytes()
    except OSError as error:
        raise FileError(f"{file} cannot be read ({error.strerror}); save again") from None
    if hashlib.sha256(text).hexdigest() != expected:
        raise FileError(f"{file} was cut off or changed since it was saved; save again")
    try:
        return Certificate(text.decode())
    except ValueError as error:
        raise FileError(f"{file} is no certificate ({error}); save again") from None


def _place(path: Any) -> Path:
    """The folder a user named, links followed, so that a link to a network stays a link."""
    try:
        return Path(os.path.realpath(os.fsdecode(path)))
    except (TypeError, ValueError):
        raise FileError(f"path is {path!r} where the name of a folder is needed") from None


def _described(part: Any, name: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """A layer, term or head as JSON; its arrays are named and put into ``arrays``."""
    kinds = {kind: name for name, kind in KINDS.items()}
    described: dict[str, Any] = {"kind": kinds[type(part)]} if type(part) in kinds else {}
    for entry in fields(part):
        value = getattr(part, entry.name)
        inner = f"{name}.{entry.name}"
        if isinstance(value, np.ndarray):
            arrays[inner] = np.ascontiguousarray(value)
            described[entry.name] = {"array": inner, "shape": list(value.shape)}
        elif entry.name in PARTS:
            described[entry.name] = [
                _described(item, f"{inner}.{i}", arrays) for i, item in enumerate(value)
            ]
        elif value is not None:
            described[entry.name] = value
    return described


def _rebuilt(described: dict[str, Any], kind: Any, arrays: dict[str, np.ndarray]) -> Any:
    """The layer, term or head that ``_described`` wrote; its own constructor checks it."""
    given = {}
    for name, value in described.items():
        if name == "kind":
            continue
        if isinstance(value, dict):
            array = arrays[value["array"]]
            if list(array.shape) != value["shape"]:
                raise FileError(f"{value['array']} has another shape than it says")
            given[name] = array
        elif name in PARTS:
            given[name] = tuple(_rebuilt(item, PARTS[name], arrays) for item in value)
        else:
            given[name] = tuple(value) if isinstance(value, list) else value
    return kind(**given)


def _description(place: Path) -> dict[str, Any]:
    """The folder's JSON, if it is that of a network, whole, and of a version that is known."""
    file = place / DESCRIPTION
    try:
        text = file.read_bytes()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise FileError(
            f"{file} cannot be read ({why}); give the folder that network.save wrote"
        ) from None
    try:
        description = json.loads(text)
        digest = _digest(description) if isinstance(description, dict) else ""
    except (ValueError, RecursionError):
        raise FileError(f"{file} is not JSON, or was cut off; save again") from None
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise FileError(f"{file} does not describe an anchorhead network; give another folder")
    version = description.get("version")
    if version != VERSION:
        raise FileError(
            f"{file} has version {str(version)[:20]} where this anchorhead reads {VERSION}; "
            f"load it with the anchorhead that wrote it"
        )
    if description.get("sha256") != digest:
        raise FileError(f"{file} was changed since it was saved; save again")
    return description


def _digest(description: dict[str, Any]) -> str:
    """SHA-256 of the description without its own digest, in a canonical text."""
    told = {name: value for name, value in description.items() if name != "sha256"}
    text = json.dumps(told, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _may_be_replaced(place: Path) -> bool:
    """Whether a network may be written here: nothing stands here, or an empty folder, or a network.

    A network is told by its two plain files and by the way its description begins, so that one that
    was damaged later may be replaced too.
    """
    if not place.exists():
        return True
    files = list(place.iterdir()) if place.is_dir() else [place]
    if not all(
        file.is_file() and file.name in (DESCRIPTION, WEIGHTS, CERTIFICATE) for file in files
    ):
        return False
    if not files:
        return True
    description = place / DESCRIPTION
    return description.is_file() and FORMAT.encode() in description.read_bytes()[:64]


def _replace_folder(place: Path, files: dict[str, bytes]) -> None:
    """Write the files into a new folder beside ``place``, then put it there."""
    made: Path | None = None
    try:
        if not _may_be_replaced(place):
            raise FileError(f"{place} exists and is not a saved network; give another path")
        place.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".anchorhead-", dir=place.parent))
        made.chmod(0o755)
        for name, content in files.items():
            with (made / name).open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        _swap(made, place)
    except FileError:
        raise
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise FileError(
            f"{place} cannot be written ({why}); what stood there is unchanged"
        ) from None
    finally:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)


def _swap(made: Path, place: Path) -> None:
    """Put ``made`` at ``place``; an old folder there is moved away first, and back on failure."""
    if not place.exists():
        made.rename(place)
        return
    old = made.with_name(made.name + ".old")
    place.rename(old)
    try:
        made.rename(place)
    except OSError:
        old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)
