"""What a comparison says of a checkpoint and its base, and what is missing to publish them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablemend.backends.checkpoints import ADAPTER, Checkpoint, local_folder
from tablemend.errors import TablemendError
from tablemend.publishing.command import PublishCommand
from tablemend.publishing.recorded import Recorded, base_of, chain_of, datasets_of
from tablemend.records import ContextKind
from tablemend.reports.content import contexts_of
from tablemend.reports.tabulation import read_results
from tablemend.training.checkpoints import revision_of

LOWEST_SCORED = 0.5
"""Share of a system's answers that must have a verdict, on every context."""


@dataclass(frozen=True)
class Scores:
    """The results of a run, and the two systems of it that a card is about.

    Attributes:
        results: as in results.json.
        system: name of the checkpoint's system; ``None`` where no system answers with it.
        base: name of the system of what the training began with; ``None`` where there is none.
        first: in a chain of trainings, the system of what the first one began with.
    """

    results: dict[str, Any]
    system: str | None
    base: str | None
    first: str | None = None

    @property
    def contexts(self) -> list[ContextKind]:
        """The contexts that were shown."""
        return contexts_of(self.results)

    @property
    def systems(self) -> list[str]:
        """The bases' systems and the checkpoint's, those that are there."""
        return [name for name in (self.first, self.base, self.system) if name is not None]

    def role(self, system: str) -> str:
        """What a system is to the card's reader."""
        if system == self.system:
            return "checkpoint"
        return "start" if system == self.base and self.first is not None else "base"


def read_scores(recorded: Recorded, command: PublishCommand) -> Scores | None:
    """The results of a run's comparison; ``None`` where there was none.

    Raises:
        TablemendError: results of another shape, or a system that they do not have.
    """
    path = recorded.run.path / "results.json"
    if not path.is_file():
        return None
    results = read_results(path)
    settings = results["settings"]
    if command.system is not None and command.system not in settings:
        raise TablemendError(
            f"system={command.system}: {path} has the systems {', '.join(settings)}"
        )
    own = [name for name in settings if _answers_with(settings[name], recorded.stage)]
    system = command.system or next(iter(own), None)
    base = _system_of(recorded.config.model.path, system, settings)
    first = _system_of(chain_of(recorded)[0].config.model.path, system, settings)
    return Scores(results, system, base, first if first != base else None)


def _system_of(model: str, system: str | None, settings: dict[str, Any]) -> str | None:
    """The system of a model: the one with the same prompt as ``system``, else the first."""
    names = [name for name in settings if _answers_with(settings[name], model)]
    alike = [n for n in names if system and settings[n]["prompt"] == settings[system]["prompt"]]
    return next(iter([*alike, *names]), None)


def _answers_with(settings: dict[str, Any], model: str) -> bool:
    """Whether a system is this model's own answers: not mended, not held to a grammar."""
    named = str(settings.get("named", "")).partition(":")[2]
    return named == model and not settings.get("after") and not settings.get("constrain")


def missing(recorded: Recorded, scores: Scores | None, command: PublishCommand) -> list[str]:
    """What someone else would need to check the checkpoint and that is not there."""
    found = []
    if not {"steps", "model_revision", "rows_hash"} <= recorded.facts.keys():
        found.append("the record of the training in manifest.json")
    found += _other_starts(recorded)
    if recorded.is_adapter and not command.merged:
        found += _missing_base(recorded)
    if command.license is None:
        found.append("a licence (license=NAME, such as apache-2.0)")
    if command.base_model is None and base_of(recorded) is None:
        found.append("the base model's name on the Hub (base_model=OWNER/NAME, or none)")
    if command.datasets is None and (local := datasets_of(recorded)[1]):
        names = ", ".join(Path(name).name for name in local)
        found.append(f"the name on the Hub of the data {names} (datasets=[OWNER/NAME], or [])")
    if scores is None:
        return [*found, "a comparison (python eval/compare.py recipe=... run=...)"]
    if scores.system is None:
        found.append(f"a system of the comparison with model: {recorded.stage}")
    else:
        found += _other_weights(recorded, scores.results["settings"][scores.system])
    if scores.base is None:
        found.append("a system of the comparison with model: base")
    for system in scores.systems:
        for context in scores.contexts:
            scored = (
                scores.results["systems"][system][context]["total_hallu"]["n"] / scores.results["n"]
            )
            if scored < LOWEST_SCORED:
                found.append(
                    f"verdicts: {1 - scored:.0%} of the answers of {system} on {context} contexts "
                    "are unscored"
                )
    if recorded.config.task_of().second_scorer and not scores.results["second"]["scorer"]:
        found.append(
            "a second scorer (eval/compare.py ... rescore=true evaluation.second_scorer=exact)"
        )
    return found


def _other_starts(recorded: Recorded) -> list[str]:
    """In a chain, a run that was trained anew since says nothing of what this one began with."""
    return [
        f"the start as it was: {one.config.model.path} holds other weights now"
        for one in chain_of(recorded)[1:]
        if one.facts.get("model_revision") != revision_of(one.config.model.path)
    ]


def _missing_base(recorded: Recorded) -> list[str]:
    settings = json.loads((recorded.run.model / ADAPTER).read_text(encoding="utf-8"))
    base = settings["base_model_name_or_path"]
    if local_folder(base) is None:
        return []
    return [f"a base that others have: the adapter's is the folder {base} (set merged=true)"]


def _other_weights(recorded: Recorded, settings: dict[str, Any]) -> list[str]:
    """Results of an earlier checkpoint in the same run are no results of this one."""
    try:
        here = Checkpoint.parse(str(recorded.run.model)).fingerprint()
    except TablemendError as error:
        return [f"the checkpoint's fingerprint ({error})"]
    if settings.get("fingerprint") == here:
        return []
    return ["results of these weights: those in results.json are of others (compare again)"]
