"""Which language a text is in, and the words that share a stem in it.

Detection counts function words: enough to choose a stemmer, and nothing else depends on it.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

import Stemmer

FUNCTION_WORDS: dict[str, str] = {
    "en": "the of and to in is that it for on with as was this are be by from at not have which you an or",
    "de": "der die und das den von zu mit sich des auf für ist im dem nicht ein eine als auch es an werden wird",
    "fr": "le la les de des et en un une est que du dans pour qui sur pas au plus par avec sont ce il vous",
    "es": "el los las de que y en un una por con para es del se no lo como más pero sus al su este",
    "it": "il di che la le un una per non in del con sono della si da nel alla più come anche gli dei",
    "pt": "o os as de que e em um uma para com não por mais dos da do se na no ao como foi são",
    "nl": "de het een van en in is dat op te zijn met voor niet aan er om ook als dan maar bij door worden",
    "sv": "och att det som en på är av för med den till inte har om ett men var jag från vi så kan",
    "da": "og at det som en på er af for med den til ikke har om et men var jeg fra vi så kan der de",
    "no": "og at det som en på er av for med den til ikke har om et men var jeg fra vi så kan der de",
    "fi": "ja on ei että se hän oli ovat mutta kun joka myös niin tai kuin olla ole sen mukaan vain",
    "ru": "и в не на что я с он как это по но из у за то все так его для бы от мы при",
    "hu": "a az és hogy nem is egy ez volt meg de csak mint már van még vagy ha el azt",
    "ro": "și de la în cu nu pe că este un o din pentru mai care sunt ce fi sau dar",
    "tr": "ve bir bu için da de ile çok daha gibi olarak ne var olan en kadar sonra ama ya",
}
STEMMERS: dict[str, str] = {
    "en": "english", "de": "german", "fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese",
    "nl": "dutch", "sv": "swedish", "da": "danish", "no": "norwegian", "fi": "finnish", "ru": "russian",
    "hu": "hungarian", "ro": "romanian", "tr": "turkish",
}  # fmt: skip
LANGUAGES = ("", *FUNCTION_WORDS)
"""the column value of a language is its position here; 0 is unknown"""

_SAMPLE = 4_000
_WORD = re.compile(r"[^\W\d_]+")
_VOTES: dict[str, list[str]] = {}
for _code, _words in FUNCTION_WORDS.items():
    for _word in _words.split():
        _VOTES.setdefault(_word, []).append(_code)


def detect(text: str) -> str:
    """The ISO 639-1 code of the language of `text`, "" when its first 4,000 characters do not tell."""
    words = _WORD.findall(text[:_SAMPLE].lower())
    votes: Counter[str] = Counter()
    for word in words:
        for code in _VOTES.get(word, ()):
            votes[code] += 1
    if not votes:
        return ""
    code, count = votes.most_common(1)[0]
    return code if count >= max(3, 0.04 * len(words)) else ""


@lru_cache(maxsize=20)
def _stemmer(code: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(STEMMERS[code])


def stem(word: str, language: str) -> str:
    """The stem of a folded word; the word itself where the language has no stemmer or it holds a digit."""
    if language not in STEMMERS or not word.isalpha():
        return word
    return str(_stemmer(language).stemWord(word))


def is_function_word(word: str, languages: tuple[str, ...]) -> bool:
    """Whether `word` (folded) is a function word in one of the languages."""
    return any(code in languages for code in _FOLDED_VOTES.get(word, ()))


def _fold_votes() -> dict[str, list[str]]:
    from indexer.text.analysis import fold

    folded: dict[str, list[str]] = {}
    for word, codes in _VOTES.items():
        folded.setdefault(fold(word), []).extend(codes)
    return folded


_FOLDED_VOTES = _fold_votes()
