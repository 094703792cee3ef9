"""Dates in names and at the beginning of texts: ISO, day.month.year, 15mar24, March 2024, 2024-Q1, a year."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from functools import cache, lru_cache

from indexer.text.analysis import fold

_NAMES = (
    "january jan januar janvier janv enero ene gennaio janeiro januari tammikuu январь января január ianuarie ocak"
    " styczeń stycznia leden ledna",
    "february feb februar février févr febrero febbraio fevereiro februari helmikuu февраль февраля február februarie"
    " şubat luty lutego únor února",
    "march mar märz maerz mrz mrt mars marzo maart marts maaliskuu март марта március martie mart"
    " marzec březen března",
    "april apr avril avr abril abr aprile huhtikuu апрель апреля április aprilie nisan kwiecień"
    " kwietnia duben dubna",
    "may mai mayo maggio maio mei maj toukokuu май мая május mayıs květen května",
    "june jun juni juin junio giugno junho kesäkuu июнь июня június iunie haziran"
    " czerwiec czerwca červen června",
    "july jul juli juillet juil julio luglio julho heinäkuu июль июля iulie temmuz lipiec"
    " lipca červenec července",
    "august aug août agosto augustus augusti elokuu август августа augusztus ağustos"
    " sierpień sierpnia srpen srpna",
    "september sep sept septembre septiembre settembre setembro syyskuu сентябрь сентября szeptember septembrie eylül"
    " wrzesień września září",
    "october oct oktober okt octobre octubre ottobre outubro lokakuu октябрь октября október octombrie ekim"
    " październik października říjen října",
    "november nov novembre noviembre novembro marraskuu ноябрь ноября noiembrie listopad"
    " listopada",
    "december dec dezember dez décembre diciembre dic dicembre dezembro desember joulukuu декабрь декабря decembrie"
    " aralık grudzień grudnia prosinec prosince",
)  # fmt: skip
MONTHS = {fold(name): number for number, names in enumerate(_NAMES, start=1) for name in names.split()}
"""in seventeen languages, folded -> from 1; but for those that are first names or words: março, július, kasım, marca"""
_DAYS = (
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun"
    " montag dienstag mittwoch donnerstag freitag samstag sonntag lundi mardi mercredi jeudi vendredi samedi dimanche"
    " lunes martes miercoles jueves viernes sabado domingo lunedi martedi mercoledi giovedi venerdi domenica"
)
WEEKDAYS = frozenset(_DAYS.split())
MONTH_NAMES = {number: tuple(name for name, own in MONTHS.items() if own == number) for number in range(1, 13)}
HEAD = 500
"""characters at the beginning of a text within which its date may stand"""

_YEAR, _MONTH, _DAY = r"((?:19|20)\d\d)", r"(0[1-9]|1[0-2])", r"(0[1-9]|[12]\d|3[01])"
_MONTH_NAME = rf"(?<![^\W\d_])({'|'.join(sorted(MONTHS, key=len, reverse=True))})(?![^\W\d_])\.?"
_GAP = r"[\s_.,/-]{0,2}"
_CLOCK = r"(?:[-_. t]{1,2}([01]\d|2[0-3])[-_.:h ]?([0-5]\d)(?:[-_.:m ]?([0-5]\d))?s?)?"

Made = Callable[..., float]


def _day(year: str, month: str | int = 1, day: str | int | None = 1, *clock: str | None) -> float:
    whole = int(year) + (0 if len(year) > 2 else 2000)
    seconds = sum(int(part or 0) * unit for part, unit in zip(clock, (3600, 60, 1), strict=False))
    return date(whole, int(month), int(day or 1)).toordinal() + seconds / 86_400


def _day_month_year(first: str, second: str, year: str) -> float:
    day, month = (second, first) if int(second) > 12 else (first, second)
    return _day(year, month, day)


_WHOLE: tuple[tuple[str, Made], ...] = (
    (rf"{_MONTH_NAME}{_GAP}(\d{{1,2}})(?:st|nd|rd|th)?,?{_GAP}{_YEAR}(?!\d)", lambda m, d, y: _day(y, MONTHS[m], d)),
    (rf"(?<!\d){_YEAR}{_GAP}{_MONTH_NAME}{_GAP}(\d{{1,2}})(?!\d)", lambda y, m, d: _day(y, MONTHS[m], d)),
    (rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th|\.)?{_GAP}{_MONTH_NAME}{_GAP}((?:19|20)?\d\d)(?!\d)",
     lambda d, m, y: _day(y, MONTHS[m], d)),
    (rf"(?<!\d){_YEAR}([-_. /]?){_MONTH}\2{_DAY}(?!\d){_CLOCK}", lambda y, _, m, d, *clock: _day(y, m, d, *clock)),
    (rf"(?<!\d){_YEAR}{_MONTH}{_DAY}([01]\d|2[0-3])([0-5]\d)([0-5]\d)?(?!\d)", _day),
    (rf"(?<![\d.])(\d{{1,2}})([-_. /])(\d{{1,2}})\2{_YEAR}(?!\d)", lambda d, _, m, y: _day_month_year(d, m, y)),
    (rf"(?<![\w.]){_DAY}\.{_MONTH}\.(\d\d)(?![\w.])", lambda d, m, y: _day(y, m, d)),
)  # fmt: skip
"""patterns of whole dates, each with what gives its day"""
_PARTS: tuple[tuple[str, Made], ...] = (
    (rf"(?<!\d){_YEAR}{_GAP}{_MONTH_NAME}", lambda y, m: _day(y, MONTHS[m])),
    (rf"{_MONTH_NAME}{_GAP}((?:19|20)?\d\d)(?!\d)", lambda m, y: _day(y, MONTHS[m])),
    (rf"(?<!\d){_YEAR}[-_. /]?{_MONTH}(?!\d)", _day),
    (rf"(?<![^\W_])(?<!\.)(0?[1-9]|1[0-2])[-_. /]{_YEAR}(?!\d)", lambda m, y: _day(y, m)),
    (rf"(?<!\d){_YEAR}{_GAP}q([1-4])(?!\d)", lambda y, q: _day(y, 3 * int(q))),
    (rf"(?<![^\W_])q([1-4]){_GAP}{_YEAR}(?!\d)", lambda q, y: _day(y, 3 * int(q))),
    (rf"(?<![^\W_]){_YEAR}(?![^\W_])", _day),
)
"""the same for a month, a quarter or a year alone"""
_YEAR_OR_DAYS = r"(?<=1)9\d\d|(?<=2)0\d\d|\d\.\d\d\.\d\d"
_NUMBERS = re.compile(rf"\d(?:{_YEAR_OR_DAYS}|\W*[^\W\d_]+\W*\d\d)")
"""one of these is in every whole date; a pattern that begins with a digit is searched faster"""
_WITHOUT_MONTH, _LETTERS = re.compile(rf"\d(?:{_YEAR_OR_DAYS})"), re.compile(r"[^\W\d_]+")
_compiled = cache(re.compile)  # compiled when first needed: all of them take 5 ms


def _first(text: str, patterns: Iterable[tuple[str, Made]]) -> float | None:
    may_match = bool(_WITHOUT_MONTH.search(text)), not MONTHS.keys().isdisjoint(_LETTERS.findall(text))
    for pattern, made in patterns:
        for match in _compiled(pattern).finditer(text) if may_match[_MONTH_NAME in pattern] else ():
            try:
                return made(*match.groups())
            except ValueError:  # 31 April
                continue
    return None


@lru_cache(maxsize=10_000)
def day_of_name(name: str) -> float | None:
    """The day that a name without its ending gives, as days from the year 1 (the time as a fraction).

    Of several readings the most exact; a month or a year stands for its first day. None where there is no date.
    """
    return _first(folded, (*_WHOLE, *_PARTS)) if re.search(r"\d", folded := fold(name)) else None


_TYPED = tuple(re.compile(pattern) for pattern in (
    r"(?P<y>(?:19|20)\d\d)(?P<joint>[-_./]?)(?P<m>0[1-9]|1[0-2])(?P=joint)(?P<d>0[1-9]|[12]\d|3[01])",
    r"(?P<d>0?[1-9]|[12]\d|3[01])(?P<joint>[-_./])(?P<m>0?[1-9]|1[0-2])(?P=joint)(?P<y>(?:19|20)\d\d)",
    r"(?P<y>(?:19|20)\d\d)[-_./](?P<m>0[1-9]|1[0-2])|(?P<M>0?[1-9]|1[0-2])[-_./](?P<Y>(?:19|20)\d\d)",
    r"(?P<m>0?[1-9]|1[0-2])/(?P<y>\d\d)",
    r"(?P<d>0[1-9]|[12]\d|3[01])\.(?P<m>0[1-9]|1[0-2])\.(?P<y>\d\d)",
    r"(?P<m>0?[1-9]|1[0-2])/(?P<d>1[3-9]|2\d|3[01])/(?P<y>(?:19|20)\d\d)",
    r"(?P<d>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th|er|\.)?(?: of| de)? (?P<m>[^\W\d_]+)\.?,?(?: de)? (?P<y>(?:19|20)\d\d)",
    r"(?P<m>[^\W\d_]+)\.? (?P<d>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?,? (?P<y>(?:19|20)\d\d)",
))  # fmt: skip
"""days and months typed in digits, days also with the name of the month; a month also without the century: 11/24"""

_DAYS_OF_MONTH = [f"{day:02}" for day in range(1, 32)]
_TIME = re.compile(r"(\d{1,2})(?:[:.h](\d\d)|(?=\s?[ap]m))\s?([ap]m)?")
_MOMENT = re.compile(r"(\d{4})-(\d\d)-(\d\d)[t ](\d\d):(\d\d)(?::(\d\d))?(?:[.,]\d+)?(?:z|[+-]\d\d:?\d\d)?")


def moment_spellings(typed: str) -> Iterable[tuple[str, ...]]:
    """How texts write a day, a month, a time of day or both that were typed in digits, each as words in a row."""
    yield from date_spellings(typed)
    if (time := _TIME.fullmatch(typed)) and int(time[1]) < 24 and int(time[2] or 0) < 60:
        hour, minute, half = int(time[1]), time[2] or "00", time[3]
        hour += 12 * ((half == "pm") - (hour == 12)) if half and hour < 13 else 0
        halves = (half,) if half else ("am", "pm") if 0 < hour < 12 else ("pm" if hour else "am",)
        for own in (f"{hour:02}", str(hour)):
            yield from ((own, minute), (f"{own}h{minute}",))
        for own in {f"{hour % 12 or 12:02}", str(hour % 12 or 12)}:
            for ending in halves:
                yield from ((own, f"{minute}{ending}"), (own, minute, ending))
                yield from ((f"{own}{ending}",), (own, ending)) if minute == "00" else ()
    elif moment := _MOMENT.fullmatch(typed):
        year, month, day, hours, *rest = moment.groups()
        tail = [part for part in rest if part]
        for ending in (tail, [*tail[:-1], f"{tail[-1]}z"]):
            yield from ((year, month, day, hours, *ending), (year, month, f"{day}t{hours}", *ending))


@lru_cache(maxsize=1_000)
def date_spellings(typed: str) -> tuple[tuple[str, ...], ...]:
    """How texts and names write a day or a month that was typed, each as words in a row; () for no date."""
    match = next((found for pattern in _TYPED if (found := pattern.fullmatch(typed))), None)
    if match is None:
        return ()
    parts = {name.lower(): value for name, value in match.groupdict().items() if value}
    year, number = f"20{parts['y']}"[-4:], int(parts["m"]) if parts["m"].isdecimal() else MONTHS.get(parts["m"], 0)
    if not number:
        return ()
    month, names = (f"{number:02}", str(number)), MONTH_NAMES[number]
    ways: list[tuple[str, ...]]
    if "d" not in parts:
        ways = [(year, month[0]), *((own, year) for own in (*month, *names)), *((year, own) for own in names)]
        return tuple(dict.fromkeys([*ways, *((year + month[0] + own,) for own in ("", *_DAYS_OF_MONTH))]))
    day = (f"{int(parts['d']):02}", str(int(parts["d"])))
    ways = [(year, own, day[own != month[0]]) for own in month] + [(year + month[0] + day[0],)]
    ways += [(year, month[0], f"{day[0]}t{hour:02}") for hour in range(24)]
    ways += [(first, own, other) for first in day for own in month for other in (year, year[2:])]
    ways += [(month[i], day[i], year) for i in (0, 1) if int(day[0]) > 12]  # else it is another day, too
    ordinal = day[1] + ("th" if day[1][:-1] == "1" else {"1": "st", "2": "nd", "3": "rd"}.get(day[1][-1], "th"))
    for own in names:
        ways += [way for first in (*day, ordinal, f"{day[1]}er") for way in ((first, own, year), (own, first, year))]
        ways += [(day[1], "de", own, "de", year), (ordinal, "of", own, year)]
    return tuple(dict.fromkeys(ways))


def day_of_text(text: str) -> float | None:
    """The first whole date at the beginning of a text, as `day_of_name` counts; None where there is none."""
    head = text[:HEAD]
    return _first(fold(head), _WHOLE) if _NUMBERS.search(head) else None
