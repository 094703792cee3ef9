"""The shipped encoder with products of whole numbers: half the processor time of the model as it ships.

It keeps its weights as int8 and makes them floating point numbers when it is loaded:

    MatMul(x, Cast(weights) * scales)

becomes, with x as uint8 between its least and its greatest number (ONNX's DynamicQuantizeLinear),

    x8, step, zero = DynamicQuantizeLinear(x);  Cast(MatMulInteger(x8, weights, zero)) * (step * scales)

for which processors have instructions. The field numbers are those of onnx.proto (ModelProto, GraphProto, NodeProto,
AttributeProto), the bytes those of protocol buffers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
    """The same model, its products with int8 weights written anew; one without such weights comes back as it is."""
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
        key, start = _whole_number(message, at)
        size, begin = _whole_number(message, start) if key & 7 in (0, 2) else ({1: 8, 5: 4}[key & 7], start)
        end = begin + (size if key & 7 != 0 else 0)
        yield _Field(key >> 3, message[at:end], message[begin:end])
        at = end


def _whole_number(message: memoryview, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def _bytes(number: int, content: bytes) -> bytes:
    size, head = len(content), bytearray([number << 3 | 2])
    while size > 127:
        head.append(size & 127 | 128)
        size >>= 7
    return bytes(head) + bytes([size]) + content
