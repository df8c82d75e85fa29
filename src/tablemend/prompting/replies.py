"""What a model answered, read strictly but not pettily; what cannot be read says why.

Prose around one JSON object, code fences, a line of introduction, line breaks in strings and
commas before a closing bracket are tolerated. Nothing is completed, guessed or cut: an answer that
needs that is unreadable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tablemend.backends.requests import Completion

REQUEST_FAILED = "request failed"
CUT = "cut by the token limit"
EMPTY = "empty answer"
REFUSED = "refusal"
NO_JSON = "no JSON object"
TRUNCATED = "truncated JSON"
INVALID = "invalid JSON"
SEVERAL = "several JSON objects"
WRONG_FIELD = "missing or wrong field"
BAD_CHARACTER = "character that no text may hold"
NO_VERDICT = "no verdict"
TWO_VERDICTS = "contradicting verdicts"
NOT_PROSE = "not the text alone"

_LONGEST_VERDICT = 240
_FENCE = "```"
_BRACE = re.compile(r'[{}]|"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A brace, or a string, whose braces do not count."""
_BAD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_INTRODUCTION = re.compile(
    r"(?:(?:sure|certainly|of course|okay|ok|absolutely)\b[^\n]{0,120}"
    r"|here(?: is|'s|\u2019s| are)\b[^\n]{0,120}|below is\b[^\n]{0,120}):[*_ ]*(?:\n+|\Z)"
    r"|[*#_ ]*(?:query|request|(?:expanded|final|long) (?:context|text))[*_ ]*:[*_ ]*\n*",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\W*(?:(?:i['\u2019]?m|i am) (?:(?:very|so|really) )?(?:sorry|afraid|unable|not able)"
    r"|(?:i['\u2019]?m|i am) (?:just )?an? (?:ai|language model)"
    r"|sorry\b|apologies\b|my apologies\b|as an? (?:ai|language model)\b"
    r"|i (?:cannot|can['\u2019]?t|can not|won['\u2019]?t|will not|must decline|decline)\b"
    r"|unfortunately,? (?:i|we|(?:this|the|your) (?:request|task|prompt))\b"
    r"|this request (?:cannot|can['\u2019]?t|violates)\b)",
    re.IGNORECASE,
)
_VERDICT = re.compile(
    r"[\W_]*(?:(?:my|the|final|overall) )*verdict[\W_]*?[:=][\W_]*(\w+)"
    r"(?:[\W_]*|[\W_]*[-\u2013\u2014(,;.:](.*))",
    re.IGNORECASE,
)
_LAST_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+")|,(?=\s*[}\]])', re.DOTALL)


class Problem(NamedTuple):
    """One reason to reject what a model wrote.

    Attributes:
        kind: stable words without particulars, by which rejections are counted.
        text: the reason with its particulars, in one line, as the model is shown it.
    """

    kind: str
    text: str


class Unreadable(Exception):
    """An answer that cannot be read.

    Attributes:
        problem: the kind to count by, and the reason as the model is shown it.
    """

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(f"{kind}: {text}")
        self.problem = Problem(kind, text)


class Verdict(NamedTuple):
    """What a verifier decided, and its findings in its own words."""

    ok: bool
    reason: str


def why_no_answer(completion: Completion) -> Problem | None:
    """Why there is nothing to read; an answer that was cut is not read as if it were whole."""
    match completion.finish_reason:
        case "error":
            return Problem(REQUEST_FAILED, completion.error)
        case "length":
            return Problem(CUT, f"The answer was cut after {completion.completion_tokens} tokens.")
        case "refusal":
            return Problem(REFUSED, completion.answer[:200] or "The model declined.")
        case _:
            return None


def read_verdict(text: str, yes: str, no: str) -> Verdict:
    """The verdict on the last line, ``VERDICT: yes`` or ``VERDICT: no``, and what precedes it.

    On its line a remark may follow that has no such word; on further lines only marks, such as
    the end of a code fence: whoever goes on writing may be taking the verdict back.

    Raises:
        Unreadable: no such line, two that contradict each other, or more text behind it.
    """
    words = {yes.casefold(): True, no.casefold(): False}
    said, reason = [], []
    ended = False
    for line in checked(text).splitlines():
        match = _VERDICT.fullmatch(line) if len(line) <= _LONGEST_VERDICT else None
        spoken = set(re.findall(r"\w+", line.casefold())) & words.keys()
        if match and spoken == {match[1].casefold()}:
            said.append(words[match[1].casefold()])
            reason += [match[2].strip(" )*_")] if match[2] else []
            ended = True
        else:
            reason.append(line)
            ended = ended and not any(map(str.isalnum, line))
    if len(set(said)) > 1:
        raise Unreadable(TWO_VERDICTS, f"The answer says both {yes} and {no}.")
    if not ended:
        kind = REFUSED if _REFUSAL.match(text) else NO_VERDICT if text.strip() else EMPTY
        raise Unreadable(kind, f'The answer must end with "VERDICT: {yes}" or "VERDICT: {no}".')
    return Verdict(said[0], "\n".join(reason).strip())


def one_object(text: str, required: Iterable[str]) -> dict[str, Any]:
    """The one JSON object of an answer that has the required fields.

    Objects inside an object do not count, neither in one that can be read nor in one that cannot,
    so that half an answer is never taken for a whole.
    """
    required = tuple(required)
    found: list[dict[str, Any]] = []
    partial: list[str] = []
    failure: Unreadable | None = None
    for part in _objects(checked(text)):
        try:
            plain = _LAST_COMMA.sub(lambda match: match[1] or "", part)
            data = _unwrap(_DECODER.decode(plain), required)
        except (ValueError, RecursionError) as error:
            failure = failure or Unreadable(INVALID, f"The JSON cannot be read: {_why(error)}.")
            continue
        missing = [name for name in required if name not in data]
        if not missing:
            found.append(data)
        elif len(missing) < len(required) or len(required) == 1:
            partial = partial or missing
    if any(one != found[0] for one in found):
        raise Unreadable(SEVERAL, "Give one JSON object only.")
    if found:
        _check_strings(found[0])
        return found[0]
    if failure is not None:
        raise failure
    if partial:
        raise Unreadable(WRONG_FIELD, f"The JSON object lacks the field {_quoted(partial)}.")
    if not text.strip():
        raise Unreadable(EMPTY, "The answer was empty.")
    if _REFUSAL.match(text):
        raise Unreadable(REFUSED, "The answer was a refusal.")
    raise Unreadable(NO_JSON, "The answer must be one JSON object of the form asked for.")


def _objects(text: str) -> Iterator[str]:
    """What stands between outermost braces.

    Raises:
        Unreadable: the last one breaks off.
    """
    start = text.find("{")
    while start >= 0:
        depth = 0
        for mark in _BRACE.finditer(text, start):
            depth += {"{": 1, "}": -1}.get(mark[0], 0)
            if depth == 0:
                break
        else:
            raise Unreadable(TRUNCATED, "The JSON object breaks off before its end.")
        yield text[start : mark.end()]
        start = text.find("{", mark.end())


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} (line {error.lineno})"
    return str(error)


def _unwrap(data: dict[str, Any], required: tuple[str, ...]) -> dict[str, Any]:
    """``{"constraints": {...}}`` and the like as what is inside."""
    if len(data) == 1 and not any(name in data for name in required):
        inner = next(iter(data.values()))
        if isinstance(inner, dict):
            return inner
    return data


def _unique_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a key is twice in one object")
    return data


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON value")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_pairs,
    parse_float=str,
    parse_int=str,
    parse_constant=_no_constant,
    strict=False,
)


def _check_strings(value: Any) -> None:
    """Escapes can hold what no file can: half a surrogate pair, a zero byte."""
    if isinstance(value, str):
        checked(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            checked(key)
            _check_strings(item)
    elif isinstance(value, list):
        for item in value:
            _check_strings(item)


def checked(text: str) -> str:
    """The text, if it can be written to any file."""
    if match := _BAD.search(text):
        raise Unreadable(BAD_CHARACTER, f"The answer holds the character U+{ord(match[0]):04X}.")
    return text


def prose(text: str) -> str:
    """An answer that is asked for as plain text, without fence and introduction."""
    text = _unfenced(checked(text))
    if match := _INTRODUCTION.match(text):
        text = _unfenced(text[match.end() :])
    if not text:
        raise Unreadable(EMPTY, "The answer was empty.")
    if _REFUSAL.match(text):
        raise Unreadable(REFUSED, "The answer was a refusal.")
    if text[0] in "{[" or _FENCE in text:
        raise Unreadable(NOT_PROSE, "Answer with the plain text alone, without JSON or code.")
    return text


def _unfenced(text: str) -> str:
    text = text.strip()
    if text.startswith(_FENCE) and text.endswith(_FENCE) and text.count(_FENCE) == 2:
        first, _, rest = text[len(_FENCE) : -len(_FENCE)].partition("\n")
        return rest.strip() if len(first.split()) < 2 else text
    return text


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
