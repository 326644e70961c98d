"""A language model of random weights, as a GGUF file: one layer, one token a byte, 300 KB."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from pathlib import Path
from random import Random

WIDTH, INNER, HEADS, CONTEXT = 64, 128, 2, 32_768
_UINT32, _INT32, _FLOAT32, _STRING, _ARRAY = 4, 5, 6, 8, 9
_F32_TENSOR = 0
_ALIGNMENT = 32

Value = int | float | str | Sequence[int] | Sequence[float] | Sequence[str]


def write(path: Path, seed: int = 0) -> None:
    """Write the model's file."""
    tensors = _tensors(Random(seed))
    head = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(_properties()))
    head += b"".join(_text(name) + _typed(value) for name, value in _properties().items())
    data = b""
    for name, (shape, weights) in tensors.items():
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, _F32_TENSOR, len(data))
        data += _padded(weights.tobytes())
    path.write_bytes(_padded(head) + data)


def _properties() -> dict[str, Value]:
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    return {
        "general.architecture": "llama",
        "general.alignment": _ALIGNMENT,
        "llama.context_length": CONTEXT,
        "llama.embedding_length": WIDTH,
        "llama.block_count": 1,
        "llama.feed_forward_length": INNER,
        "llama.attention.head_count": HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": WIDTH // HEADS,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": [0.0] * len(tokens),
        "tokenizer.ggml.token_type": [2, 3, 3, *[6] * 256],  # unknown, control, control, bytes
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
    }


def _tensors(random: Random) -> dict[str, tuple[tuple[int, ...], array[float]]]:
    square, wide, narrow = (WIDTH, WIDTH), (WIDTH, INNER), (INNER, WIDTH)
    shapes = {"token_embd.weight": (WIDTH, 259), "output.weight": (WIDTH, 259)}
    shapes |= {f"blk.0.attn_{part}.weight": square for part in ("q", "k", "v", "output")}
    shapes |= {"blk.0.ffn_gate.weight": wide, "blk.0.ffn_up.weight": wide, "blk.0.ffn_down.weight": narrow}
    found: dict[str, tuple[tuple[int, ...], array[float]]] = {
        name: (shape, array("f", (random.gauss(0, 0.2) for _ in range(shape[0] * shape[1])))) for name, shape in shapes.items()
    }
    norms = ("output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight")
    return found | {name: ((WIDTH,), array("f", [1.0] * WIDTH)) for name in norms}


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _typed(value: Value) -> bytes:
    if isinstance(value, int):
        return struct.pack("<II", _UINT32, value)
    if isinstance(value, str | float):
        kind, data = _plain(value)
        return struct.pack("<I", kind) + data
    items = [_plain(item) for item in value]
    return struct.pack("<IIQ", _ARRAY, items[0][0], len(items)) + b"".join(data for _, data in items)


def _plain(value: str | int | float) -> tuple[int, bytes]:
    if isinstance(value, str):
        return _STRING, _text(value)
    return (_FLOAT32, struct.pack("<f", value)) if isinstance(value, float) else (_INT32, struct.pack("<i", value))


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % _ALIGNMENT)
