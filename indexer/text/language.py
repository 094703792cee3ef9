"""Which language a text is in, and the words that share a stem in it.

Detection counts function words: enough to choose a stemmer, and nothing else depends on it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from functools import lru_cache
from operator import itemgetter

import Stemmer

FUNCTION_WORDS: dict[str, str] = {
    "en": "the of and to in is that it for on with as was this are be by from at not have which you an or",
    "de": "der die und das den von zu mit sich des auf für ist im dem nicht ein eine als auch es an werden wird",
    "fr": "le la les de des et en un une est que du dans pour qui sur pas au plus par avec sont ce il vous",
    "es": "a el la los las de que y en un una por con para es del se no lo como más pero sus al su este",
    "it": "a il di che la le un una per non in del con sono della si da nel alla più come anche gli dei i delle è",
    "pt": "a o os as de que e em um uma para com não por mais dos da do se na no ao como foi são",
    "nl": "de het een van en in is dat op te zijn met voor niet aan er om ook als dan maar bij door worden",
    "sv": "och att det som en på är av för med den till inte har om ett men var jag från vi så kan",
    "da": "og at det som en på er af for med den til ikke har om et men var jeg fra vi så kan der de",
    "no": "og at det som en på er av for med den til ikke har om et men var jeg fra vi så kan der de",
    "fi": "ja on ei että se hän oli ovat mutta kun joka myös niin tai kuin olla ole sen mukaan vain",
    "ru": "и в не на что я с он как это по но из у за то все так его для бы от мы при",
    "hu": "a az és hogy nem is egy ez volt meg de csak mint már van még vagy ha el azt",
    "ro": "și de la în cu nu pe că este un o din pentru mai care sunt ce fi sau dar",
    "tr": "ve bir bu için da de ile çok daha gibi olarak ne var olan en kadar sonra ama ya",
    "pl": "na się nie że jest od po za przez dla jak oraz są ale czy był która który przed pod przy w z",
    "cs": "na se je že za pro jako ve od po jsou si ale při byl která který před přes není nebo aby už v z",
}
QUESTION_WORDS: dict[str, str] = {
    "en": "what when who whom whose which where why how do does did doing were been being has had having could would "
          "should shall i me my we our your he him his she her they them their these those than then there about into "
          "so if but",
    "de": "wie wann wo wer wen wem warum wieso wieviel welche welcher welches welchem welchen ich mir mich mein meine "
          "wir uns ihr ihre haben hatte hatten waren wurde wurden kann soll muss über einem einen einer eines dass",
    "fr": "quoi quel quelle quels quelles quand où comment pourquoi combien je mon ma mes nous notre nos ses leur "
          "leurs elle elles ils était étaient ont avait cette ces aux ou mais si",
    "es": "cuál cuáles cuándo dónde cómo quién quiénes cuánto cuántos cuántas cuánta mi mis nos le les ella ellos fue "
          "fueron eran han había esta estos estas sobre entre pero si",
    "it": "cosa quale quali quando dove chi perché quanto quanti quante mi mio mia noi suo sua erano hanno aveva "
          "questo questa alla alle dalla nella ma se",
    "pt": "qual quais quando onde quem porque quanto quantos quantas meu minha nosso seu sua eram tem tinha este esta "
          "isso pelo pela mas",
    "nl": "wat wanneer waar wie waarom hoe hoeveel welke ik mijn wij ons hun waren heeft hebben kan kon zou moet",
    "sv": "vad när vem varför hur vilken vilket vilka mig min vår oss han hon dem hade kunde skulle eller",
    "da": "hvad hvornår hvor hvem hvorfor hvordan hvilken hvilket hvilke min vi os han hun dem havde kunne skulle",
    "no": "hva når hvor hvem hvorfor hvordan hvilken hvilket hvilke min vi oss han hun dem hadde kunne skulle",
    "fi": "mikä mitä milloin missä kuka ketkä miksi miten kuinka montako paljonko minä minun hänen oliko onko",
    "ru": "когда где кто почему какой какая какое какие сколько чем я мне мой мы нас она они был была были было их его "
          "этот эта эти об",
    "hu": "mi mit mikor hol ki miért hogyan milyen hány mennyi melyik volt voltak",
    "ro": "când unde cine cum câte câți câtă cât ce fost erau avea",
    "tr": "nerede kim neden nasıl hangi kaç mi mı idi oldu",
    "pl": "i do to o kiedy gdzie kto kogo komu dlaczego jaki jaka jakie jakich jakiej ile ja mnie mój moja nasz my ich "
          "jej jego była było były ten ta te tym",
    "cs": "a i s o do to by kdy kde kdo koho komu proč jaký jaká jaké jakých kolik já mně můj moje náš jejich jeho "
          "její byla bylo byly ten ta tento tato",
}  # fmt: skip
"""other words of a sentence that say nothing about a document: question words, pronouns, auxiliary verbs

Those that also name things (may, will, can, war, care) are left out. Language detection does not use these
words."""
STEMMERS: dict[str, str] = {
    "en": "english", "de": "german", "fr": "french", "es": "spanish", "it": "italian", "pt": "portuguese",
    "nl": "dutch", "sv": "swedish", "da": "danish", "no": "norwegian", "fi": "finnish", "ru": "russian",
    "hu": "hungarian", "ro": "romanian", "tr": "turkish", "pl": "polish", "cs": "czech", "ar": "arabic",
    "el": "greek", "he": "hebrew",
}  # fmt: skip
SIGNS = {
    "ja": "\u3040-\u30ff", "ko": "\uac00-\ud7af", "zh": "\u4e00-\u9fff", "ar": "\u0600-\u06ff", "th": "\u0e00-\u0e7f",
    "el": "\u0370-\u03ff\u1f00-\u1fff", "he": "\u05d0-\u05ea",
}  # fmt: skip
"""languages recognised by their letters; Japanese comes first, as it has Chinese letters too"""
_LATER = ("pl", "cs")
LANGUAGES = ("", *(code for code in FUNCTION_WORDS if code not in _LATER), *SIGNS, *_LATER)
"""the column value of a language is its position here, so new ones must be added last; 0 is unknown"""
PREFIXING = ("ar", "he")
"""languages that attach articles and prepositions to the front of a word"""
FLEETING = ("pl", "cs")
"""languages in which an e before the last letter of a stem comes and goes: podatek, podatku"""

_OTHERS = {"ja": "Japanese", "ko": "Korean", "zh": "Chinese", "th": "Thai"}
NAMES = tuple((STEMMERS.get(code) or _OTHERS.get(code, "")).title() for code in LANGUAGES)
"""of `LANGUAGES`, in English"""

_CYRILLIC, _RUSSIAN, _NOT_RUSSIAN = "[\u0430-\u045f]", "[ыэё]", "[іїєўј]"
_OWN_LETTERS = {"tr": "ğı", "pl": "ąęłśźż", "cs": "ěřů"}
_AND = re.compile("^[وف](?=ال|بال|كال|لل)")
_HEBREW_AFTER = re.compile(r"(?<=...)(?:יות|ים|ות|ה|ת)$")
_HEBREW_LAST = str.maketrans("ךםןףץ", "כמנפצ")
_FLEETING_E = re.compile("(?<=...)i?e(?=[kcnl]$)")
_OF_SEVERAL = re.compile("(?<=....)ow$")
_FRONT, _BACK, _BARE = str.maketrans("ou", "öü"), str.maketrans("i", "ı"), str.maketrans("öüı", "oui")
_SAMPLE = 4_000
_WORD = re.compile(r"[^\W\d_]+")
_ASCII_WORDS = "".join(chr(c) if chr(c).isalpha() else " " for c in range(128))
_VOTES: dict[str, list[str]] = {}
for _code, _words in FUNCTION_WORDS.items():
    for _word in _words.split():
        _VOTES.setdefault(_word, []).append(_code)


def detect(text: str) -> str:
    """The ISO 639-1 code of the language of `text`; "" when its first 4,000 characters do not show it."""
    text = text[:_SAMPLE].lower()
    words = text.translate(_ASCII_WORDS).split() if text.isascii() else _WORD.findall(text)
    votes: defaultdict[str, int] = defaultdict(int)
    held = Counter(filter(_VOTES.__contains__, words))
    for word, n in held.items():
        for code in _VOTES[word]:
            votes[code] += n
    for code in _LATER:  # other Slavic and Baltic languages share their words
        votes[code] *= any(letter in text for letter in _OWN_LETTERS[code]) and not any(own in text for own in "ėįųū")
    by_votes = sorted(votes.items(), key=itemgetter(1), reverse=True)
    told = (own for own in by_votes if sum(own[0] in _VOTES[word] for word in held) > 1)
    code, count = next(told, ("", 0))  # a single distinct word proves nothing: "men" is Swedish, too
    if count >= max(3, 0.04 * len(words)):
        return code
    code = "" if text.isascii() else language_by_letters(text)
    is_name = code in _OWN_LETTERS and votes[code] < by_votes[0][1]  # e.g. a Turkish name in a text of another language
    return "" if is_name else code


def language_by_letters(text: str) -> str:
    """The language to which over a fifth of the letters of `text` belong; "" for none. Russian has its own vowels.

    For Turkish, Polish and Czech, all letters of a word with a letter that few other languages have are counted.
    """
    text = text.lower()
    n_letters = sum(map(str.isalpha, text))
    russian = {"ru": _CYRILLIC} if re.search(_RUSSIAN, text) and not re.search(_NOT_RUSSIAN, text) else {}
    signs = {code: f"[{own}]" for code, own in SIGNS.items()} | russian
    signs |= {code: rf"\w*[{letters}]\w*" for code, letters in _OWN_LETTERS.items()}
    return next((code for code, sign in signs.items() if 5 * sum(map(len, re.findall(sign, text))) > n_letters), "")


@lru_cache(maxsize=20)
def _stemmer(code: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(STEMMERS[code])


def stem(word: str, language: str) -> str:
    """The stem of a folded word; the word itself if the language has no stemmer or the word is not all letters."""
    if language not in STEMMERS or not word.isalpha():
        return word
    if language == "he":
        return _hebrew_stem(word)
    if language == "tr":
        return str(_stemmer(language).stemWord(_with_harmony(word))).translate(_BARE)
    if language in FLEETING:
        word = _OF_SEVERAL.sub("ów", word) if language == "pl" else word
        return _FLEETING_E.sub("", str(_stemmer(language).stemWord(word)).replace("ó", "o"))
    return str(_stemmer(language).stemWord(_AND.sub("", word) if language == "ar" else word))


def _hebrew_stem(word: str) -> str:
    """A word without article, prepositions and plural, at least three letters: a shared form, not a dictionary stem."""
    bare = _HEBREW_AFTER.sub("", word)
    while len(bare) > 3 and bare[0] in "והבלכמש":
        bare = bare[1:]
    return bare.translate(_HEBREW_LAST)


def _with_harmony(word: str) -> str:
    """A folded Turkish word with vowels in harmony with its last a or e; the stemmer knows suffixes only like that."""
    return word.translate(_FRONT if word.rfind("e") > word.rfind("a") else _BACK if "a" in word else {})


def is_function_word(word: str, languages: tuple[str, ...]) -> bool:
    """Whether `word` (folded) is a function word in one of the languages."""
    return any(word in _function_words(code) for code in languages)


@lru_cache(maxsize=len(LANGUAGES))
def _function_words(code: str) -> frozenset[str]:
    from indexer.text.analysis import fold

    return frozenset(fold(word) for known in (FUNCTION_WORDS, QUESTION_WORDS) for word in known.get(code, "").split())
