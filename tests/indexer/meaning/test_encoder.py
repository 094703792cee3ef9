"""The encoder: a tiny one whose vectors are known, the shipped one where it is installed.

The shipped encoder with whole numbers, against the same one as it ships.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from indexer.errors import IndexerError
from indexer.meaning import encoder
from indexer.meaning.encoder import (
    MAX_LETTERS,
    Encoder,
    NoEncoder,
    WordPieces,
    kind_of,
    load,
    shipped,
    why_none,
    with_integer_products,
)
from tests.tiny_encoder import write_encoder

pytest.importorskip("onnxruntime")
ROOT = Path(__file__).parents[3]
needs_shipped = pytest.mark.skipif(bool(why_none("")), reason=f"the shipped encoder is {why_none('')}")


def test_a_text_is_the_mean_of_its_pieces_at_length_one(tmp_path: Path) -> None:
    """car (1,0,0) and heron (0,1,0): their mean has the direction (1,1,0); [CLS] and [SEP] mean nothing here."""
    vectors = load(str(write_encoder(tmp_path))).encode(["car", "car heron", "stone"])
    np.testing.assert_allclose(vectors, [[1, 0, 0], [0.5**0.5, 0.5**0.5, 0], [0, 0, 0]], atol=1e-6)


def test_neither_order_nor_company_changes_a_vector(tmp_path: Path) -> None:
    tiny = load(str(write_encoder(tmp_path)))
    texts = ["car " * (i % 5 + 1) + "heron " * (i % 3) for i in range(24)]
    together = tiny.encode(texts)
    np.testing.assert_array_equal(together, np.concatenate([tiny.encode([text]) for text in texts]))


def test_the_first_piece_speaks_where_the_folder_says_so(tmp_path: Path) -> None:
    """With the pooling of [CLS], which means nothing here, every text is the null vector."""
    write_encoder(tmp_path)
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    assert not load(str(tmp_path)).encode(["car"]).any()


def test_a_folder_may_bring_tokenizer_json(tmp_path: Path) -> None:
    """Read by the package tokenizers, it gives what vocab.txt gives."""
    tokenizers = pytest.importorskip("tokenizers")
    write_encoder(tmp_path)
    words = (tmp_path / "vocab.txt").read_text().splitlines()
    other = tokenizers.BertWordPieceTokenizer({word: i for i, word in enumerate(words)}, lowercase=True)
    before = load(str(tmp_path)).encode(["the heron, the car"])
    (tmp_path / "vocab.txt").unlink()
    other.save(str(tmp_path / "tokenizer.json"))
    np.testing.assert_array_equal(load(str(tmp_path)).encode(["the heron, the car"]), before)


def test_a_piece_may_be_a_sign_that_separates_lines(tmp_path: Path) -> None:
    """Such as U+2028: the pieces behind it keep their numbers."""
    before = load(str(write_encoder(tmp_path))).encode(["car levy"])
    file = tmp_path / "vocab.txt"
    file.write_text(file.read_text().replace("automobile", "\u2028"))
    np.testing.assert_array_equal(load(str(tmp_path)).encode(["car levy"]), before)


def test_another_model_has_another_name(tmp_path: Path) -> None:
    one = kind_of(str(write_encoder(tmp_path / "a")))
    other = kind_of(str(write_encoder(tmp_path / "b", {"car": (1.0, 0.0)})))
    assert one.name != other.name
    assert one.languages == frozenset()


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    assert why_none(str(tmp_path)) == f"{tmp_path}: wanted a folder with model.onnx"
    write_encoder(tmp_path)
    (tmp_path / "vocab.txt").unlink()
    with pytest.raises(NoEncoder, match=r"wanted vocab.txt or tokenizer.json"):
        load(str(tmp_path))
    (tmp_path / "model.onnx").write_bytes(b"no model")
    with pytest.raises(NoEncoder, match="cannot be read"):
        load(str(write_vocabulary(tmp_path)))


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("vocab.txt", b"a\nb\n", r"vocabulary lacks \[UNK\]"),
        ("vocab.txt", b"[UNK]\n[CLS]\n[SEP]\n" + b"car\n" * 20, "out of data bounds"),
        ("1_Pooling/config.json", b"[]", "'list' object"),
        ("model.onnx", None, "input_idz"),
        ("tokenizer.json", b"{", "EOF while parsing"),
    ],
)
def test_a_folder_of_other_files_is_no_encoder(tmp_path: Path, name: str, content: bytes | None, why: str) -> None:
    """A vocabulary of other marks or of more pieces than the model's, settings of another form, a model that wants
    more: that is known when it is loaded, not by the first search."""
    write_encoder(tmp_path)
    if name == "tokenizer.json":
        pytest.importorskip("tokenizers")
        (tmp_path / "vocab.txt").unlink()
    (tmp_path / "1_Pooling").mkdir()
    other = content or (tmp_path / name).read_bytes().replace(b"input_ids", b"input_idz")
    (tmp_path / name).write_bytes(other)
    with pytest.raises(NoEncoder, match=why):
        load(str(tmp_path))


def write_vocabulary(folder: Path) -> Path:
    (folder / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\n")
    return folder


@needs_shipped
def test_the_shipped_encoder_knows_what_words_mean() -> None:
    """Of three texts the one that says the same in other words is the closest."""
    vectors = load("").encode(["How do I repair my car?", "Mending an automobile", "A heron in the reeds", "Tax law"])
    assert vectors.shape == (4, 384)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert (vectors[0] @ vectors[1:].T).argmax() == 0


USES = {
    "meaning": "from indexer.meaning.encoder import load\nload({model!r}).encode(['heron'])",
    "ocr": "from indexer.extract.media.recognition import RecognitionOrder, TextEngine, recognise_file\n"
    "from indexer.extract.source import Limits\n"
    "recognise_file({picture!r}, Limits(), order=RecognitionOrder(TextEngine('rapidocr'), 60, 1))",
}


@pytest.mark.parametrize("use", USES)
def test_what_runs_the_models_keeps_no_record_of_the_person(tmp_path: Path, use: str) -> None:
    """onnxruntime from 1.32 on would name the device, store what program it runs in, and send that to its maker."""
    if use == "ocr":
        pytest.importorskip("rapidocr")
    model, picture, home = str(write_encoder(tmp_path / "model")), str(tmp_path / "blank.png"), tmp_path / "home"
    pytest.importorskip("PIL.Image").new("RGB", (99, 99)).save(picture)
    code = USES[use].format(model=model, picture=picture)
    home.mkdir()
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300, env=environment, cwd=ROOT)
    assert list(home.rglob("*")) == []


@needs_shipped
def test_an_encoder_that_was_not_checked_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "SHA256", "0" * 64)
    with pytest.raises(NoEncoder, match="not the one that was checked"):
        load("")


PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "aff", "!", "中", "cafe"]


def names(text: str, limit: int = 99) -> list[str]:
    return [PIECES[number] for number in WordPieces(PIECES).numbers(text, limit)]


def test_the_longest_piece_from_the_left_comes_first() -> None:
    """unaffable = un + ##aff + ##able; a word with a rest that is no piece is unknown as a whole."""
    assert names("unaffable aff") == ["[CLS]", "un", "##aff", "##able", "aff", "[SEP]"]
    assert names("unknown") == ["[CLS]", "[UNK]", "[SEP]"]
    assert names("a" * (MAX_LETTERS + 1)) == ["[CLS]", "[UNK]", "[SEP]"]


def test_case_accents_and_control_characters_go_and_signs_stand_alone() -> None:
    assert names("CAFÉ\u0000!\u00ad中中") == ["[CLS]", "cafe", "!", "中", "中", "[SEP]"]


def test_chinese_characters_stand_alone_and_no_other_letters() -> None:
    """中 is a word and ア is none, for each letter up to where the blocks end that BERT knows."""
    letters = [letter for letter in map(chr, range(0x2CEB0)) if unicodedata.category(letter) == "Lo"]
    words = WordPieces(PIECES).words(" ".join(f"x{letter}x" for letter in letters))
    chinese = {unicodedata.normalize("NFD", one) for one in letters if unicodedata.name(one, "").startswith("CJK ")}
    assert {word for word in words if len(word) == 1} == chinese | {"x"}


def test_a_long_text_is_cut_and_still_closed() -> None:
    assert names("aff " * 50, limit=4) == ["[CLS]", "aff", "aff", "[SEP]"]


def test_a_vocabulary_without_the_signs_is_refused() -> None:
    with pytest.raises(IndexerError, match=r"\[SEP\]"):
        WordPieces(["[UNK]", "[CLS]"])


def test_the_vocabulary_that_ships_is_that_of_bert() -> None:
    """101 and 102 are [CLS] and [SEP]; "hello world" is 7592 2088 (as published with the model)."""
    assert shipped().numbers("Hello, world", 99) == [101, 7592, 1010, 2088, 102]


@given(st.text(st.characters(max_codepoint=0x24F), max_size=60))
def test_the_cut_is_that_of_the_package_tokenizers(text: str) -> None:
    """An independent implementation, on any Latin text but the names of its own signs, which it reads as signs."""
    assume(not re.search(r"\[(UNK|CLS|SEP|PAD|MASK)\]", text))
    tokenizers = pytest.importorskip("tokenizers")
    numbers = shipped()._numbers
    other = tokenizers.BertWordPieceTokenizer(dict(numbers), lowercase=True) if numbers else None
    assert other is not None
    assert shipped().numbers(text, 10_000) == other.encode(text).ids


TEXTS = [
    "How do I repair my car?", "Mending an automobile", "A heron in the reeds", "Tax law of 1986, third edition",
    "x", "the " * 200,
]  # fmt: skip


@pytest.mark.skipif(bool(why_none("")), reason=f"the shipped encoder is {why_none('')}")
def test_the_vectors_are_nearly_those_of_the_model_as_it_ships() -> None:
    """Each within a cosine of .98 of its own, and nearer to it than to any other."""
    model = (encoder._shipped_file() or Path()).read_bytes()
    assert with_integer_products(model) != model
    plain = Encoder(model, lambda text: shipped().numbers(text, encoder.MAX_PIECES), encoder.SHIPPED)
    cosines = load("").encode(TEXTS) @ plain.encode(TEXTS).T
    assert cosines.diagonal().min() > 0.98
    np.testing.assert_array_equal(cosines.argmax(axis=1), range(len(TEXTS)))


def test_a_model_without_kept_weights_stays_as_it_is(tmp_path: Path) -> None:
    """But for the order of its fields: it says the same."""
    model = (write_encoder(tmp_path) / "model.onnx").read_bytes()
    written = with_integer_products(model)
    assert sorted(written) == sorted(model)
    before = load(str(tmp_path)).encode(["car heron"])
    (tmp_path / "model.onnx").write_bytes(written)
    np.testing.assert_array_equal(load(str(tmp_path)).encode(["car heron"]), before)
