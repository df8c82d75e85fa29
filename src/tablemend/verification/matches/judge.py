"""All that a report says of its match, sentence by sentence."""

from __future__ import annotations

from tablemend.verification.findings import Finding
from tablemend.verification.grounding import Grounder
from tablemend.verification.matches.earlier import judge_earlier_matches
from tablemend.verification.matches.goals import judge_goals
from tablemend.verification.matches.leaders import Leaders
from tablemend.verification.matches.match import read_match
from tablemend.verification.matches.roles import Roles
from tablemend.verification.matches.sides import Sides
from tablemend.verification.matches.squad import Squad

_LONGEST = 600  # characters: what is longer is no sentence, and patterns cost time


class Matches:
    """Judges the report of a match, where the tables are those of one.

    Args:
        grounder: of the text and its tables.
    """

    def __init__(self, grounder: Grounder) -> None:
        self._sentences = grounder.linking.reading.sentences
        self._match = match = read_match(grounder.linking, grounder)
        self._rules: list[Leaders | Roles | Sides] = []
        if match is not None and match.roster is not None:
            squad = Squad(match, match.roster)
            self._rules += [Leaders(squad), Roles(squad)]
        if match is not None:
            self._rules.append(Sides(match))
        self._found: dict[int, list[Finding]] = {}

    def judge(self, number: int) -> list[Finding]:
        """Findings on a sentence; of words that two rules judge, the first rule's."""
        start, end = self._sentences[number]
        if self._match is None or end - start > _LONGEST:
            return []
        found = self._found.get(number)
        if found is None:
            found = self._found[number] = []
            said = list(judge_earlier_matches(self._match, number))
            said += judge_goals(self._match, number)
            for rules in self._rules:
                said += rules.judge(number)
            for finding in said:
                if not any(f.start < finding.end and finding.start < f.end for f in found):
                    found.append(finding)
        return found
