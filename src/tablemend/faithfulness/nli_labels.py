"""What the outputs of a classifier mean: its labels as verdicts, or a clear refusal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tablemend.errors import TablemendError
from tablemend.records import VerdictName

_NAMES: dict[VerdictName, str] = {
    "supported": "entailment entailed entails supported supports support true consistent",
    "contradicted": "contradiction contradicted contradicts refuted refutes refute refused false"
    " inconsistent",
    "not_in_source": "neutral notentailment notentailed notenoughinfo notenoughinformation nei"
    " unknown unverifiable",
}
WORDS = {word: verdict for verdict, words in _NAMES.items() for word in words.split()}
"""Names of labels in published models of inference and table checking, letters alone.

``refused`` is how TAPEX's TabFact models call a refuted statement; ``not_entailment`` of a model
with two labels does not say which of the two others it is.
"""


def read_labels(
    model: str, names: Mapping[int, str], given: Sequence[str] = ()
) -> tuple[VerdictName, ...]:
    """The verdict of each output of a classifier, in their order.

    Args:
        model: its name, for the message.
        names: ``config.id2label``.
        given: names that a user gives in place of those.

    Raises:
        TablemendError: names that say nothing (``LABEL_0``), two that mean the same, none that
            means support, or another number of names than of outputs.
    """
    said = list(given) or [names[index] for index in sorted(names)]
    known = (WORDS.get(re.sub(r"[\W_]", "", name).casefold()) for name in said)
    found = tuple(verdict for verdict in known if verdict is not None)
    if not len(set(found)) == len(said) == len(names) > 1 or "supported" not in found:
        raise TablemendError(
            f"{model} has {len(names)} outputs, called {', '.join(said)}: which of them is"
            " support? Name them, such as --labels contradiction,entailment,neutral"
        )
    return found
