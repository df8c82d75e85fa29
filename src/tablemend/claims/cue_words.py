"""The cue words themselves: what compares, ranks, counts, adds up, or places things in time.

:data:`RULES` is ordered: where two match at one place, the first is taken, so what is longer or
more special stands before.
"""

from __future__ import annotations

from typing import Literal, get_args

from tablemend.values import number_words
from tablemend.values.dates import MONTHS
from tablemend.values.number_words import UP_TO_TWENTY

CueKind = Literal[
    "superlative",
    "rank",
    "comparative",
    "count",
    "quantifier",
    "aggregate",
    "change",
    "temporal",
    "negation",
    "hedge",
]
CUE_KINDS: tuple[CueKind, ...] = get_args(CueKind)

SENSES: dict[CueKind, str] = {
    "superlative": "an adjective (high, low, many, good ...), lead, record",
    "rank": "an adjective; place (third place, ranked 3rd), within (top 3, bottom 2), last, rank",
    "comparative": "an adjective; beat, exceed, within, lead, equal, different, "
    "multiple (twice as)",
    "count": "there_are, number, times, out_of, only, streak, multi_double (double - double)",
    "quantifier": "all, both, none, neither, only, most, half, some, several, any, one_of",
    "aggregate": "sum, mean, median, range",
    "change": "rise, fall, multiply (doubled), divide (halved), stable, fluctuate, difference",
    "temporal": "before, after, since, until, during, between, first, last, early, late, next, "
    "previous, quarter, half, period, fiscal, weekday, month, season, clock, decade, century",
    "negation": "not, never, without, fail",
    "hedge": "about, above, below, at_least, at_most, almost, exactly",
}

NUMBERS = {word: value for value, word in enumerate(UP_TO_TWENTY) if value}
ORDINALS = {word: value for value, word in enumerate(number_words.ORDINALS, 1)}
FACTORS = {
    "once": 1,
    "single": 1,
    "sole": 1,
    "twice": 2,
    "double": 2,
    "doubles": 2,
    "doubled": 2,
    "doubling": 2,
    "half": 2,
    "pair": 2,
    "couple": 2,
    "duo": 2,
    "trio": 3,
    "dozen": 12,
    "runner": 2,
    "runners": 2,
    "next": 2,
    "thrice": 3,
    "triple": 3,
    "tripled": 3,
    "tripling": 3,
    "quadrupled": 4,
    "quadrupling": 4,
}
_NUMBER = rf"(?:\d{{1,3}}|{'|'.join(NUMBERS)})"
_ORDINAL = rf"(?:\d+\s?(?:st|nd|rd|th)|{'|'.join(ORDINALS)})"
_DASH = r"(?:\s*-\s*|\s+)"
# "over 20", "about a million", "nearly $ 5", "at least one"
_AMOUNT = (
    r"(?=\s*(?:[$€£¥~]|usd|an? (?:hundred|thousand|million|billion|dozen)|half\b|twice\b|"
    rf"a (?:third|quarter)\b|[-+.]?\d|(?:{'|'.join(NUMBERS)}|{'|'.join(number_words.TENS[1:])}|"
    r"hundred|zero)\b))"
)

# adjective: direction, comparatives, superlatives
_ADJECTIVES: dict[str, tuple[int, str, str]] = {
    "high": (1, "higher", "highest"),
    "great": (1, "greater", "greatest"),
    "large": (1, "larger bigger", "largest biggest"),
    "good": (1, "better superior stronger", "best strongest finest"),
    "long": (1, "longer", "longest"),
    "tall": (1, "taller", "tallest"),
    "heavy": (1, "heavier", "heaviest"),
    "old": (1, "older elder", "oldest eldest"),
    "new": (1, "newer", "newest"),
    "fast": (1, "faster quicker", "fastest quickest"),
    "rich": (1, "richer wealthier", "richest wealthiest"),
    "wide": (1, "wider broader", "widest broadest"),
    "deep": (1, "deeper", "deepest"),
    "far": (1, "farther", "furthest farthest"),
    "warm": (1, "warmer hotter", "warmest hottest"),
    "bright": (1, "brighter", "brightest"),
    "thick": (1, "thicker", "thickest"),
    "steep": (1, "steeper sharper", "steepest sharpest"),
    "busy": (1, "busier", "busiest"),
    "dense": (1, "denser", "densest"),
    "hard": (1, "harder", "hardest"),
    "few": (-1, "fewer", "fewest"),
    "low": (-1, "lower", "lowest"),
    "small": (-1, "smaller", "smallest tiniest"),
    "bad": (-1, "worse inferior weaker", "worst weakest"),
    "short": (-1, "shorter", "shortest"),
    "light": (-1, "lighter", "lightest"),
    "young": (-1, "younger", "youngest"),
    "slow": (-1, "slower", "slowest"),
    "poor": (-1, "poorer", "poorest"),
    "narrow": (-1, "narrower", "narrowest"),
    "near": (-1, "nearer closer", "nearest closest"),
    "cold": (-1, "colder cooler", "coldest coolest"),
    "thin": (-1, "thinner", "thinnest"),
    "cheap": (-1, "cheaper", "cheapest"),
}
COMPARATIVES = {w: (s, d) for s, (d, ws, _) in _ADJECTIVES.items() for w in ws.split()}
SUPERLATIVES = {w: (s, d) for s, (d, _, ws) in _ADJECTIVES.items() for w in ws.split()}
SUPERLATIVES |= {
    "most": ("many", 1),
    "least": ("little", -1),
    "maximum": ("high", 1),
    "max": ("high", 1),
    "maximal": ("high", 1),
    "peak": ("high", 1),
    "peaked": ("high", 1),
    "peaks": ("high", 1),
    "peaking": ("high", 1),
    "minimum": ("low", -1),
    "min": ("low", -1),
    "minimal": ("low", -1),
    "top": ("good", 1),
    "bottom": ("bad", -1),
}
COMPARATIVES |= {"more": ("many", 1), "less": ("little", -1)}
_COMPARATIVE = "|".join(sorted(COMPARATIVES, key=len, reverse=True))
_SUPERLATIVE = "|".join(sorted(SUPERLATIVES, key=len, reverse=True))
# "most" with an adjective or "the" before it is a superlative; alone it is a share.
_THAN_WHAT = (
    r"\s+(?:(?:the|its|their|that|those|both|all|any)\s+)?(?:normal|average|reference|mean|median|"
    r"target|expected|others?|previous|that|those|limit|range|baselines?)\b"
)
_ADJECTIVAL = (
    r"(?:accurate|active|attended|common|consistent|current|decorated|difficult|distant|effective|"
    r"efficient|expensive|experienced|famous|frequent|frequently|important|notable|notably|often|"
    r"populated|populous|popular|powerful|prevalent|productive|prolific|prominent|recent|recently|"
    r"significant|significantly|successful|valuable|watched|wins|points|goals|medals)"
)

_Rule = tuple[CueKind, str, int, str]
RULES: tuple[_Rule, ...] = (
    # ---- ranks
    ("rank", "", 0, rf"{_ORDINAL}{_DASH}(?:{_SUPERLATIVE})"),
    ("rank", "", 0, rf"next{_DASH}(?:{_SUPERLATIVE})"),
    ("rank", "last", -1, rf"{_ORDINAL}{_DASH}(?:to{_DASH})?last|next{_DASH}to{_DASH}last"),
    ("rank", "within", 1, rf"top{_DASH}{_NUMBER}(?!\s*(?:%|percent))"),
    ("rank", "within", -1, rf"bottom{_DASH}{_NUMBER}(?!\s*(?:%|percent))"),
    ("rank", "within", 0, rf"{_NUMBER}{_DASH}(?:{_SUPERLATIVE})"),
    (
        "rank",
        "place",
        0,
        rf"{_ORDINAL}{_DASH}(?:place[ds]?|position|spot|rank(?:ed|ing)?|seed(?:ed)?|"
        r"overall|from the (?:top|bottom))",
    ),
    (
        "rank",
        "place",
        0,
        r"(?:rank(?:ed|s|ing)?|finish(?:ed|es|ing)?|plac(?:e|es|ed|ing)|came|come|comes|seeded|"
        rf"stood|stands|sits|is|was|be|are|were)\s+(?:in\s+|at\s+|as\s+)?(?:the\s+)?{_ORDINAL}"
        r"(?=\s*(?:[.,;)]|$|in\b|on\b|among|overall|of\b|with\b|behind|and\b|for\b|by\b))",
    ),
    (
        "rank",
        "place",
        0,
        rf"(?:rank(?:ed|s|ing)?|finish(?:ed|es|ing)?|plac(?:ed|ing))\s+(?:number\s+|no\s*\.?\s+|#\s*)?"
        rf"{_NUMBER}",
    ),
    ("rank", "place", 0, r"(?:number|no\s*\.)\s+(?:1|one)"),
    ("rank", "last", -1, r"(?:finish|rank|place|come|came|be|is|was)\w*\s+(?:in\s+|dead\s+)?last"),
    ("rank", "last", -1, rf"last{_DASH}(?:place[ds]?|position|spot)"),
    ("rank", "place", 0, rf"runners?{_DASH}up"),
    ("rank", "rank", 0, r"rank(?:s|ed|ing|ings)?"),
    # ---- counts
    ("count", "multi_double", 0, r"(?:double|triple)\s*-\s*doubles?"),
    (
        "count",
        "out_of",
        0,
        rf"{_NUMBER}\s+out\s+of(?:\s+(?:the|his|her|its|their))?(?:\s+{_NUMBER})?",
    ),
    (
        "quantifier",
        "one_of",
        0,
        r"(?:one|some|several|many|few)\s+of\s+the(?=\s+(?:most|[a-z]+est))",
    ),
    ("quantifier", "half", 0, r"(?:exactly|about|around)?\s?half\s+(?:of|the)"),
    ("quantifier", "most", 1, r"(?:more\s+than|over)\s+(?:a\s+)?half(?:\s+of)?"),
    ("quantifier", "most", -1, r"(?:less|fewer)\s+than\s+(?:a\s+)?half(?:\s+of)?"),
    (
        "count",
        "out_of",
        0,
        rf"(?<!no\. )(?<!no ){_NUMBER}\s+of\s+(?:the|its|his|her|their|these|those)",
    ),
    (
        "count",
        "there_are",
        0,
        r"there\s+(?:be|is|are|was|were|has\s+been|have\s+been|had\s+been)(?=\s+(?:only\s+|exactly"
        rf"\s+|just\s+|at\s+least\s+|more\s+than\s+|a\s+total\s+of\s+|no\b|{_NUMBER}\b))",
    ),
    (
        "count",
        "only",
        0,
        r"(?:only|just)\s+(?:one|1)|"
        r"a\s+single(?=\s+(?!in\b|by\b|from\b|on\b|and\b|with\b)[a-z])|(?:the\s+)?sole",
    ),
    ("count", "streak", 0, r"consecutive(?:ly)?|in\s+a\s+row|streaks?|back\s*-\s*to\s*-\s*back"),
    (
        "comparative",
        "multiple",
        1,
        r"(?:twice|thrice|double|triple)\s+(?:as\s+(?:many|much|high|large|long)|as|the|that|what)",
    ),
    ("comparative", "multiple", -1, r"half\s+as"),
    (
        "comparative",
        "multiple",
        1,
        rf"(?:\d+(?:\.\d+)?|{'|'.join(NUMBERS)})\s+times\s+(?:as|more|the|that|higher|larger|greater"
        r"|bigger|less|lower|longer|faster)",
    ),
    ("count", "times", 0, rf"{_NUMBER}\s+times?|twice|thrice|once(?!\s+again)"),
    ("aggregate", "sum", 0, r"(?:(?:the|a)\s+)?(?:(?:grand|combined)\s+)?total\s+number\s+of"),
    ("count", "number", 0, r"(?:a|the|total|same|large|small|equal)?\s?(?:number|count)s?\s+of"),
    ("count", "number", 0, r"an?\s+(?:pair|couple|duo|trio|dozen)\s+of"),
    # ---- hedges: they stand before an amount
    ("hedge", "at_most", -1, r"(?:no|not)\s+(?:more|higher|greater|later|larger)\s+than"),
    ("hedge", "at_least", 1, r"(?:no|not)\s+(?:less|fewer|lower|earlier|smaller)\s+than"),
    (
        "hedge",
        "above",
        1,
        r"(?:(?:just|slightly|well|a\s+little|much)\s+)?(?:over|above|(?:more|higher|greater|larger|"
        rf"bigger|longer|older|better|taller)\s+than|in\s+excess\s+of|upwards?\s+of){_AMOUNT}",
    ),
    (
        "hedge",
        "below",
        -1,
        r"(?:(?:just|slightly|well|a\s+little|much)\s+)?(?:under|below|(?:less|fewer|lower|smaller|"
        rf"shorter|younger|worse)\s+than){_AMOUNT}",
    ),
    ("hedge", "at_least", 1, rf"at\s+(?:the\s+(?:very\s+)?)?least|minimum\s+of{_AMOUNT}"),
    ("hedge", "at_most", -1, rf"at\s+(?:the\s+(?:very\s+)?)?most{_AMOUNT}|up\s+to{_AMOUNT}"),
    ("hedge", "almost", -1, rf"(?:almost|nearly|close\s+to|approaching|just\s+shy\s+of){_AMOUNT}"),
    (
        "hedge",
        "about",
        0,
        r"(?:about|around|approximately|approx\s?\.?|roughly|circa|ca\s?\.|some|an\s+estimated|"
        rf"estimated|somewhere\s+near|near){_AMOUNT}|or\s+so",
    ),
    ("hedge", "exactly", 0, rf"(?:exactly|precisely){_AMOUNT}|exactly"),
    ("hedge", "above", 1, r"or\s+(?:more|higher|above|greater)|and\s+(?:up|above)"),
    ("hedge", "below", -1, r"or\s+(?:less|fewer|lower|below)"),
    # ---- changes and differences
    ("change", "multiply", 1, r"(?:doubl|tripl|quadrupl)(?:ed|ing)|double[ds]?\s+(?:from|in)"),
    ("change", "divide", -1, r"halv(?:e|es|ed|ing)"),
    (
        "change",
        "rise",
        1,
        r"increas(?:e|es|ed|ing|ingly)|ris(?:e|es|en|ing)|rose|gr(?:ow|ows|ew|own|owing|owth)|"
        r"climb(?:s|ed|ing)?|surg(?:e|es|ed|ing)|soar(?:s|ed|ing)?|jump(?:s|ed|ing)?|"
        r"expand(?:s|ed|ing)?(?=\s+(?:by|to|from)\b)|accelerat(?:e|es|ed|ing)|improv(?:e|es|ed|ing|ement|ements)|"
        r"(?:go|goes|went|going|gone|trend(?:s|ed|ing)?|move[ds]?)\s+up|upward(?:s)?|uptick|"
        r"up\s+by|up\s+from|"
        r"(?<!make )(?<!makes )(?<!made )(?<!making )up(?=\s+\d)|"
        r"gains?(?=\s+(?:of|over|in)\b)|gain(?:s|ed)?\s+by",
    ),
    (
        "change",
        "fall",
        -1,
        r"decreas(?:e|es|ed|ing)|declin(?:e|es|ed|ing)|f[ae]ll(?:s|en|ing)?(?!\s+(?:to\s+the|short|under|into|within|"
        r"behind))|drop(?:s|ped|ping)?|reduc(?:e|es|ed|ing|tion|tions)|shr[aiu]nk(?:s|ing)?|"
        r"plung(?:e|es|ed)|plummet(?:s|ed|ing)?|slump(?:s|ed)?|dip(?:s|ped|ping)?|slid(?:e|es)?|"
        r"deteriorat(?:e|es|ed|ing|ion)|worsen(?:s|ed|ing)?|degrad(?:e|es|ed|ation)|"
        r"(?:go|goes|went|going|gone|trend(?:s|ed|ing)?|move[ds]?)\s+down|downward(?:s)?|"
        r"down\s+by|down\s+from|down(?=\s+\d)",
    ),
    (
        "change",
        "stable",
        0,
        r"unchanged|(?:remain|stay)\w*\s+(?:the\s+same|constant|stable|flat|steady)",
    ),
    ("change", "fluctuate", 0, r"fluctuat(?:e|es|ed|ing|ion|ions)"),
    ("change", "difference", 0, r"difference|gap|margin|deficit|differential|disparity"),
    # ---- quantifiers
    ("quantifier", "both", 0, r"both"),
    ("quantifier", "neither", 0, r"neither"),
    (
        "quantifier",
        "none",
        0,
        r"none(?:\s+of)?|no\s+one|nobody|nothing|not\s+(?:a\s+single|any|one)|"
        r"no(?!\s*\.?\s*\d|\s+longer|\w|\s*[.-]\s*\w|\s*,)",
    ),
    (
        "quantifier",
        "all",
        0,
        rf"all(?!{_DASH}(?:star|time|around|round|pro|purpose|rounder)|\s+in\s+all)"
        r"(?:\s+of)?|(?:each|every)(?:\s+(?:one|other))?(?:\s+of)?|everyone|everything|always|"
        r"entire|whole|any\s+other|everybody",
    ),
    ("quantifier", "most", 1, r"(?:the\s+)?(?:vast\s+)?majority(?:\s+of)?|most\s+of|mostly|mainly"),
    ("quantifier", "most", -1, r"(?:the\s+|a\s+)?minority(?:\s+of)?"),
    ("quantifier", "half", 0, r"half(?=\s+of\b)"),
    ("quantifier", "only", 0, r"only|solely|exclusively|except(?:\s+for)?|unique"),
    ("quantifier", "several", 0, r"several|multiple|many|numerous|various|a\s+few|few(?!er)"),
    ("quantifier", "any", 0, r"any|either"),
    ("quantifier", "some", 0, r"some"),
    # ---- superlatives
    ("superlative", "recent", 1, r"(?:the\s+)?most\s+recent(?:ly)?|latest"),
    ("superlative", "early", -1, r"earliest"),
    ("superlative", "", 0, r"(?:the|a|its|his|her|their|with|by\s+far|'s)\s+(?:most|least)"),
    ("superlative", "", 0, rf"(?:most|least)\s+(?={_ADJECTIVAL}\b)"),
    (
        "superlative",
        "many",
        1,
        r"(?:(?<=have )|(?<=has )|(?<=had )|(?<=score )|(?<=scored )|(?<=win )|(?<=won ))most",
    ),
    ("quantifier", "most", 1, r"most"),
    ("superlative", "", 0, rf"(?:{_SUPERLATIVE})"),
    (
        "superlative",
        "lead",
        1,
        r"(?:leads|led|leading)\s+with|(?:lead|leads|led|leading)(?:\s+(?:the\s+(?:way|team|league|list|table|pack|field|group|"
        r"charge|second\s+unit|bench|scoring|rankings?|standings)|all|everyone|in\s+(?:scoring|points|"
        r"rebounds|assists|goals|wins)|by(?!\s+\d)))|leading|(?:game|team|season|career|league)"
        rf"{_DASH}(?:high|low)|leader|dominant|dominat(?:e|es|ed|ing)",
    ),
    (
        "superlative",
        "high",
        1,
        r"high(?=\s+of\b)|(?:a|the)\s+high(?=\s+(?:at|near)\w*\b)|highs(?=\s+(?:of|in)\b)",
    ),
    (
        "superlative",
        "low",
        -1,
        r"low(?=\s+of\b)|(?:a|the)\s+low(?=\s+(?:at|near)\w*\b)|lows(?=\s+(?:of|in)\b)",
    ),
    ("superlative", "record", 1, rf"record{_DASH}(?:high|breaking|setting)|all{_DASH}time\s+high"),
    ("superlative", "record", -1, rf"record{_DASH}low|all{_DASH}time\s+low"),
    # ---- comparatives
    (
        "comparative",
        "equal",
        0,
        r"(?:the\s+)?(?:exact\s+)?same(?:\s+as)?|equal(?:s|led|ly)?(?:\s+to)?|ti(?:e|es|ed|ing)(?:\s+"
        r"(?:with|for|at))?|identical|(?:even|level)\s+with|(?:is|are|was|were|be)\s+even|drew|draw|"
        r"similar(?:ly)?|comparable|on\s+par|matched|shar(?:e|es|ed|ing)(?=\s+(?:the|a|first|second))|"
        r"as\s+(?:many|much|few|little|high|low|good|large|old|long|tall)(?:\s+\w+){0,3}?\s+as",
    ),
    ("comparative", "different", 0, r"differ(?:s|ed|ent|ently)?|unequal|vary|varies|varied|unlike"),
    (
        "comparative",
        "exceed",
        1,
        r"exceed(?:s|ed|ing)?|surpass(?:es|ed|ing)?|outperform(?:s|ed|ing)?|outpac(?:e|es|ed|ing)|"
        r"outnumber(?:s|ed|ing)?|outscor(?:e|es|ed|ing)|out\s?-?\s?(?:rebound|shoot|score|play|gain)\w*|"
        r"outshone|topp(?:ed|ing)|eclips(?:e|es|ed)|overt(?:ake|akes|ook|aking)",
    ),
    (
        "comparative",
        "exceed",
        -1,
        r"underperform(?:s|ed|ing)?|trail(?:s|ed|ing)?|lag(?:s|ged|ging)?|fell\s+short|falls?\s+short|"
        r"(?:fall|falls|fell|be|is|are|was|were|right|just|close)\s+behind|behind(?!\s+the)|"
        r"bettered\s+by|surpassed\s+by",
    ),
    ("comparative", "exceed", 1, rf"above(?={_THAN_WHAT})"),
    ("comparative", "exceed", -1, rf"below(?={_THAN_WHAT})"),
    ("comparative", "within", 0, r"within(?=\s+(?:the|its)\s+(?:normal|reference)\s+)"),
    (
        "comparative",
        "beat",
        1,
        r"beat(?:s|en|ing)?|defeat(?:s|ed|ing)?|edg(?:e|es|ed)\s+(?:out|past)?|"
        r"victor(?:y|ies|ious)(?:\s+over)?|(?:win|wins|won)\s+(?:over|against)|(?:win|wins|won)(?=\s+the\s+(?:game|match|contest))|triumph\w*|"
        r"overc(?:ame|ome|omes)|def\s*\.",
    ),
    (
        "comparative",
        "beat",
        -1,
        r"(?:lost|lose|loses|losing|loss|fell|fall|falls|defeated)\s+(?:to|by|against)(?:\s+the)?",
    ),
    (
        "comparative",
        "lead",
        1,
        r"ahead(?:\s+of)?|(?:take|takes|took|hold|holds|held)\s+(?:a|the)\s+lead"
        r"|lead(?:s)?\s+(?:over|of)|led\s+by(?=\s+\d)",
    ),
    ("temporal", "late", 1, r"later(?:\s+than)?|afterwards?"),
    (
        "temporal",
        "early",
        -1,
        r"earlier(?:\s+than)?|prior\s+to|previously|previous|preceding|formerly",
    ),
    ("comparative", "", 0, rf"(?:{_COMPARATIVE})(?:\s+than)?"),
    (
        "comparative",
        "compare",
        0,
        r"(?:as\s+)?compared?\s+(?:to|with)|versus|vs\s*\.?|than|whereas",
    ),
    # ---- aggregates
    (
        "aggregate",
        "sum",
        0,
        r"(?:(?:a|the|in|grand|with\s+a)\s+)?total(?:s|ed|ing|led|ling)?(?:\s+of)?|combin(?:e|es|ed|ing)"
        r"|altogether|sum(?:s|med)?(?:\s+of)?|cumulative(?:ly)?|in\s+all|aggregate|amass(?:ed|es|ing)?",
    ),
    (
        "aggregate",
        "mean",
        0,
        r"(?:(?:an|the|on|with\s+an)\s+)?averag(?:e|es|ed|ing)(?:\s+of)?|mean(?=\s+(?:of|value|score|"
        r"age|time|temperature))|on\s+the\s+whole",
    ),
    ("aggregate", "median", 0, r"median(?:\s+of)?"),
    (
        "aggregate",
        "range",
        0,
        r"rang(?:e|es|ed|ing)(?:\s+(?:of|from|between))?|var(?:y|ies|ied|ying)\s+(?:from|between)|"
        r"spann?(?:s|ed|ing)?(?=\s)",
    ),
    # ---- time
    ("temporal", "quarter", 0, rf"q\s?[1-4](?!\d)|{_ORDINAL}{_DASH}quarter|[1-4]q(?=\d|\b)"),
    ("temporal", "half", 0, rf"(?:first|second|1st|2nd){_DASH}half|h[12](?=\s+\d{{4}})|halftime"),
    (
        "temporal",
        "period",
        0,
        rf"{_ORDINAL}{_DASH}(?:period|inning|set|leg|round|week|day|season|year)s?",
    ),
    ("temporal", "fiscal", 0, r"(?:fiscal(?:\s+year)?|fy)\s?(?:19|20)?\d{2}|fiscal(?:\s+year)?"),
    (
        "temporal",
        "clock",
        0,
        r"\d{1,2}\s?:\s?\d{2}(?:\s?:\s?\d{2})?(?:\s?[ap]\s?\.?m\b)?|\d{1,2}\s?[ap]\s?\.?m\b|noon|midnight",
    ),
    ("temporal", "decade", 0, r"(?:1[5-9]|20)\d0\s?'?s|(?<=')\d0s"),
    ("temporal", "century", 0, rf"{_ORDINAL}{_DASH}century|century"),
    ("temporal", "weekday", 0, r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"),
    (
        "temporal",
        "month",
        0,
        rf"(?:{'|'.join(name for name in MONTHS if name not in ('march', 'may'))})|"
        r"(?:march|may)(?=\s+(?:\d|of\b))|"
        r"(?:(?<=in )|(?<=from )|(?<=to )|(?<=since )|(?<=until )|(?<=by )|(?<=late )|(?<=early )|"
        r"(?<=last )|(?<=of ))(?:march|may)",
    ),
    (
        "temporal",
        "season",
        0,
        r"(?:in|of|the|this|last)\s+(?:spring|summer|autumn|fall|winter)(?=\W*"
        r"(?:of|\d|[.,;]|$))",
    ),
    ("temporal", "before", -1, r"before|until|till"),
    ("temporal", "after", 1, r"after|since|following(?=\s+(?:the|a|his|her|its|their)\b)"),
    ("temporal", "during", 0, r"during|meanwhile|simultaneous(?:ly)?|at\s+the\s+time"),
    (
        "temporal",
        "between",
        0,
        r"(?:between|from)(?=\s+(?:\w+\s+)?(?:1[5-9]|20)\d{2}\s*(?:and|to|-|until|through)\b)",
    ),
    ("temporal", "first", -1, r"first|initial(?:ly)?|debut\w*|1st"),
    ("temporal", "last", 1, r"last|final(?!\s+(?:score|result))|recent(?:ly)?"),
    ("temporal", "next", 1, r"next|finally|ultimately|eventually|subsequent(?:ly)?"),
    # ---- negation
    ("negation", "never", 0, r"never"),
    ("negation", "without", 0, r"without|lack(?:s|ed|ing)?"),
    ("negation", "fail", 0, r"fail(?:s|ed|ing)?\s+to|unable\s+to"),
    ("negation", "not", 0, r"not|cannot|nor|no\s+longer"),
)
