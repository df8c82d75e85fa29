"""What is checked of rows before a training: masks, prompts, and the chat template itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tablemend.errors import TablemendError
from tablemend.recipe.experiment import Trained
from tablemend.renderer import ANSWER, PROBE, Tokenizer, prompt_ids, target_ids, whole_chat
from tablemend.tasks.chats import Chat
from tablemend.tasks.task import Sample
from tablemend.thinking import continued, opened_thought

TRAINED, MASKED, PLAIN = "\033[32m", "\033[90m", "\033[0m"


def check_row(tokenizer: Tokenizer, row: Any, target: str) -> None:
    """Assert that the supervised ids are exactly the target and one end of turn.

    Raises:
        TablemendError: a tokenizer that does not give back the text it was given.
    """
    end, decoded = tokenizer.decode(row.target[-1:]), tokenizer.decode(row.target)
    target = continued(opened_thought(tokenizer, row.prompt), target)
    if decoded != target + end or row.target.count(row.target[-1]) != 1:
        raise TablemendError(
            f"the supervised ids decode to {decoded[-80:]!r}, not to the target and one end "
            f"of turn {end!r}: the tokenizer does not give back the text it is given"
        )


def check_prompt(
    tokenizer: Tokenizer, sample: Sample, view: str, prompt: Sequence[int], config: Trained
) -> None:
    """Assert that a training prompt is that of every system that answers with its checkpoint."""
    for system in config.evaluation.systems.values():
        if system.model == config.stage and not system.after:
            chat = config.task_of(system).messages(sample, view, system.prompt)
            ids = prompt_ids(tokenizer, chat, config.thinking_of(system) != "off")
            assert tuple(ids) == tuple(prompt), "the training prompt is not the evaluation's"


def check_templates(tokenizer: Tokenizer, items: Iterable[Sample | Chat], config: Trained) -> None:
    """:func:`check_template` for every way of thinking in the data."""
    own = config.thinking != "off"
    for thinks in {one.thinks if isinstance(one, Chat) else own for one in items}:
        check_template(tokenizer, thinks)


def check_template(tokenizer: Tokenizer, thinks: bool) -> None:
    """Refuse a chat template that does not itself write prompt, answer and end of turn so.

    Args:
        tokenizer: of the model.
        thinks: whether the answers have a thought, which the template must keep.
    """
    check_end_of_turn(tokenizer)
    answer = f"<think>\nb\n</think>\n\n{ANSWER}" if thinks else ANSWER
    prompt = prompt_ids(tokenizer, PROBE, thinks)
    target = target_ids(tokenizer, continued(opened_thought(tokenizer, prompt), answer))
    ours = tokenizer.decode([*prompt, *target])
    whole = whole_chat(tokenizer, PROBE, answer, thinks)
    if whole.startswith(ours):
        return
    theirs = whole.partition(PROBE[0]["content"])[2]
    ours = ours.partition(PROBE[0]["content"])[2]
    mend = (
        "set thinking=off, or give the tokenizer a chat template that keeps the thoughts of its "
        "answers (TRL ships some, *_training.jinja)"
        if thinks
        else "train with a thought (such as thinking=quote), or give the tokenizer a chat template "
        "that opens none"
        if "<think>" in ours
        else "give the tokenizer a chat template that continues its own generation prompt"
    )
    raise TablemendError(
        f"the chat template does not write an answer {'with' if thinks else 'without'} a thought "
        f"as it would be trained: {theirs[:80]!r}, not {ours[:80]!r}: {mend}"
    )


def check_drawing_template(tokenizer: Tokenizer, thinks: bool) -> None:
    """:func:`check_template` for answers that the model draws, with thoughts of its own."""
    if thinks:
        check_end_of_turn(tokenizer)
    else:
        check_template(tokenizer, False)


def check_end_of_turn(tokenizer: Tokenizer) -> None:
    """Refuse a tokenizer whose ``eos_token`` is not what its chat template ends a turn with.

    A model trained with the wrong one never stops, or writes what stands before it at each end.
    """
    text = whole_chat(tokenizer, PROBE, ANSWER, None)
    end = tokenizer.decode(target_ids(tokenizer, "")[-1:])
    behind = text.rpartition(ANSWER)[2]
    if not behind.startswith(end):
        raise TablemendError(
            f"eos_token {end!r} does not end the assistant's turn in the chat template "
            f"({text[-40:]!r}): set model.end_of_turn to the token that does"
        )


def show(tokenizer: Tokenizer, row: Any) -> str:
    """The row as coloured text for a terminal: green bears loss, grey does not."""
    parts = []
    for ids, colour in ((row.prompt, MASKED), (row.target, TRAINED)):
        tokens = [tokenizer.decode([token]) for token in ids]
        parts.append(colour + f"{PLAIN}|{colour}".join(tokens) + PLAIN)
    return f"{''.join(parts)}\n{len(row.prompt)} masked + {len(row.target)} trained tokens"
