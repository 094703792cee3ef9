"""Which language a text is in, and stems."""

from __future__ import annotations

import pytest

from indexer.text.analysis import fold
from indexer.text.language import FUNCTION_WORDS, LANGUAGES, NAMES, SIGNS, STEMMERS, detect, is_function_word, stem

TEXTS = {
    "en": "The heron stands in the water and it is not easy to see that it waits for a fish.",
    "de": "Der Reiher steht im Wasser und wartet auf einen Fisch, den er nicht sehen kann.",
    "fr": "Le héron est dans les eaux du lac et il ne bouge pas, ce qui est une ruse.",
    "es": "La garza está en el agua y no se mueve, por lo que los peces no la ven.",
    "it": "La garza sta nel lago e non si muove, come gli altri uccelli della palude.",
    "nl": "De reiger staat in het water en hij wacht op een vis die er niet is.",
    "ru": "Цапля стоит в воде и не движется, но она видит рыбу, и это так.",
    "pl": "Czapla stoi w wodzie i czeka na rybę, której jest za mało, ale się nie rusza.",
    "cs": "Volavka stojí ve vodě a čeká na rybu, která není vidět, ale nehýbe se.",
    "tr": "Balıkçıl suda durur ve bir balık için bekler, ama bu çok uzun olan bir iş.",
}


@pytest.mark.parametrize(("code", "text"), TEXTS.items())
def test_function_words_tell_the_language(code: str, text: str) -> None:
    """One sentence is enough."""
    assert detect(text) == code


@pytest.mark.parametrize("text", ["", "heron stork crane", "def f(x): return x + 1", "12 13 14", "the the", "A P A A"])
def test_too_little_tells_nothing(text: str) -> None:
    """Fewer than three function words, one alone, or too few among many words, leave the language open."""
    assert detect(text) == ""
    assert detect(TEXTS["en"] + " zyx" * 400) == ""


def test_one_word_of_a_language_does_not_tell_it() -> None:
    """Men and roman numbers are Swedish and Italian words, too: one alone makes no text theirs, however often."""
    assert detect("Men over 40 drink more than men under 30: men 12, women 7; young men 20, old men 8.") == ""
    assert detect("Vitamin I, group I, stage I, phase I: survival, group I against II, III; table I") == ""


def test_a_spanish_preposition_is_no_hungarian_article() -> None:
    """ "de" and "a" are words of both languages, and Spanish is the first."""
    assert detect("Nómina de mayo de 2024, servicio de salud: líquido a percibir 1.920 euros") == "es"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Coser a mano a punto de cadeneta, a veces a dos agujas. Llevar cera a la próxima clase.", "es"),
        ("Portare i fogli per la rilegatura a Marta, e la cera è finita", "it"),
    ],
)
def test_neighbours_are_told_by_their_articles(text: str, code: str) -> None:
    """A note with many a "a" is neither Portuguese nor Italian."""
    assert detect(text) == code


def test_every_language_has_a_code_a_stemmer_and_function_words() -> None:
    """The lists agree; unknown is the first column value; some that letters tell have a stemmer, too."""
    assert LANGUAGES[0] == ""
    assert set(LANGUAGES[1:]) - set(SIGNS) == set(FUNCTION_WORDS) == set(STEMMERS) - {"ar", "el", "he"}
    assert all(NAMES[1:])
    assert len(NAMES) == len(LANGUAGES)
    assert (NAMES[LANGUAGES.index("de")], NAMES[LANGUAGES.index("zh")]) == ("German", "Chinese")


@pytest.mark.parametrize(
    ("text", "code"),
    [("柏林房子的租约 2024", "zh"), ("家を借りる契約", "ja"), ("집 임대 계약", "ko"), ("عقد إيجار البيت", "ar"),
     ("สัญญาเช่าบ้าน", "th"), ("Λογαριασμός ρεύματος", "el"), ("פגישה עם הרופא", "he"), ("Doktor randevusu yarın", "tr"),
     ("a letter to Mr Erdoğan about rent", ""), ("Paragony za paliwo, wrzesień, łącznie 312 zł", "pl"),
     ("Tiskárna ve třetím patře, údržbář Hořínek", "cs"),
     ("Faktura za elektřinu od společnosti ČEZ na rok 2024, a to za dům na vsi", "cs"),
     ("Faktúra za plyn od spoločnosti na rok 2024, ktorá je za dom na dedine", ""),
     ("Račun za struju od tvrtke na godinu 2024, i to za kuću na selu", ""),
     ("Смета на ремонт крыши", "ru"), ("Кошторис на ремонт дахів і стін", ""), ("a song called ты", ""),
     ("a house called 家", ""), ("дом", "")],
)  # fmt: skip
def test_letters_of_its_own_tell_a_language(text: str, code: str) -> None:
    """A fifth of the letters is enough: Japanese has many Chinese ones; a sign among other words tells nothing."""
    assert detect(text) == code


def test_stems_join_the_forms_of_a_word() -> None:
    """run, runs and running are one; a word with a digit, and an unknown language, are left alone."""
    assert {stem(word, "en") for word in ("run", "runs", "running")} == {"run"}
    assert stem("herons", "en") == "heron"
    assert (stem("runs2", "en"), stem("runs", ""), stem("runs", "xx")) == ("runs2", "runs", "runs")


def test_function_words_depend_on_the_languages_in_use() -> None:
    """ "die" is a verb in English and an article in German; accents do not matter."""
    assert is_function_word("die", ("de",))
    assert not is_function_word("die", ("en",))
    assert is_function_word("fur", ("de",))
    assert not is_function_word("heron", tuple(STEMMERS))


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("pl", "paragon paragony paragonu paragonów"),
        ("pl", "reklamacja reklamacje reklamacji reklamację"),
        ("cs", "tiskárna tiskárny tiskárnu tiskáren"),
        ("cs", "výpadek výpadky výpadku"),
        ("pl", "podatek podatku podatki"),
        ("tr", "kitap kitabı kitaplar kitaplarının"),
        ("el", "λογαριασμός λογαριασμού λογαριασμοί λογαριασμό"),
        ("ar", "كتاب الكتاب والكتاب بالكتاب"),
        ("he", "חשבון החשבון לחשבון חשבונות"),
    ],
)
def test_articles_and_suffixes_of_folded_words_are_taken_off(language: str, words: str) -> None:
    """Without its dots a Turkish vowel is known by its harmony; Arabic and Hebrew grow in front, too."""
    assert len({stem(fold(word), language) for word in words.split()}) == 1
