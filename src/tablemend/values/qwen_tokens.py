"""How many tokens a Qwen tokenizer makes of a text, estimated without the tokenizer.

Qwen's pre-tokenizer gives every digit a token of its own and one to the space before a number,
so tables full of numbers take far more tokens than words. Words are counted by their length:
names, which are rare words, by every third letter, the others by every fifth.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r" (?=\d)|\d|[A-Z][a-z]{0,2}|[a-z]{1,5}|[^\W\d_]|[^\w\s]|_|\n+")


def count_tokens(text: str) -> int:
    """About the number of tokens, rather too many than too few.

    Against the tokenizer of Qwen (the vocabulary that Qwen to Qwen3 share), over 40 easy
    contexts of each of five sources: 1.02 to 1.15 times the true count on average, 0.95 to 1.31
    times for a single context.
    """
    return len(_TOKEN.findall(text))
