"""A language model as second scorer: asked once, its replies stored, its verdict read strictly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tablemend.backends.asking import ask
from tablemend.backends.backend import open_backend
from tablemend.backends.names import ModelName
from tablemend.backends.requests import END_OF_THINKING, Completion, Request, Sampling
from tablemend.exact_match import Difference, Opinion
from tablemend.generations import Generations
from tablemend.prompting.files import PromptFolder
from tablemend.prompting.replies import WRONG_FIELD, Unreadable, one_object, why_no_answer
from tablemend.recipe.experiment import Comparison
from tablemend.records import SampleView
from tablemend.runs import Run, Store, hash_settings
from tablemend.tables.table import Table
from tablemend.tables.write import write_table
from tablemend.tasks.tablehallu import BLANK
from tablemend.tasks.task import Sample

PROMPT = "second_scorer"
PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
LONGEST = 1024
CHUNK = 64
"""Answers that are asked about together: a kill loses no more."""
VERDICTS = {"faithful": False, "hallucinated": True}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "reason": {"type": "string"},
        "verdict": {"type": "string", "enum": list(VERDICTS)},
    },
    "required": ["reason", "verdict"],
    "additionalProperties": False,
}

Replies = Mapping[str, Completion]
"""Stored replies by :func:`reply_key`."""


def replies_path(run: Run) -> Path:
    """File with what the judging model replied."""
    return run.path / "second_scorer.jsonl"


def judging_model(config: Comparison) -> ModelName | None:
    """The model that judges beside the detector; ``None`` where none does."""
    text = config.evaluation.judging_model
    return None if text is None else ModelName.parse(text, config.default_engine)


def judge_name(model: ModelName) -> str:
    """Model and version of the prompt, without a server's address."""
    return f"llm:{model.engine}:{model.model}, {PROMPTS.version(PROMPT)}"


def ask_judge(examples: Sequence[Sample], config: Comparison, run: Run) -> None:
    """Ask the judging model about every stored answer that it has not scored yet.

    Raises:
        Stopped: its server is gone; the replies are stored.
        TablemendError: it cannot be opened or loaded.
    """
    model = judging_model(config)
    if model is None:
        return
    options = config.evaluation.options
    with open_backend(model, options, attn=config.model.attn) as backend:
        identity = hash_settings(
            {name: value for name, value in backend.identity.items() if name != "server"}
        )
        store = _store(run)
        wanted: dict[str, Request] = {}
        for view, text in _answers(examples, config, run):
            request = _request(view, text)
            key = reply_key(model, request.messages)
            known = store.get(key)
            if not known or known["finish_reason"] == "error" or known["identity"] != identity:
                wanted[key] = Request(
                    key, request.messages, request.sampling, schema=request.schema
                )
        waiting = list(wanted.values())
        with store:
            for place in range(0, len(waiting), CHUNK):
                for key, one in ask(backend, waiting[place : place + CHUNK]).items():
                    store.put(_record(key, identity, one))


def _store(run: Run) -> Store:
    return Store(replies_path(run), "key")


def read_replies(run: Run) -> Replies:
    """What the judging model replied; the last reply to each request."""
    return {
        key: Completion(
            key,
            record["text"],
            record["prompt_tokens"],
            record["completion_tokens"],
            record["finish_reason"],
            record["error"],
        )
        for key, record in _store(run).items()
    }


def opinion_of(model: ModelName, view: SampleView, text: str, replies: Replies) -> Opinion:
    """What the model said of one answer; what cannot be read is unscored, never guessed."""
    name = judge_name(model)
    completion = replies.get(reply_key(model, _request(view, text).messages))
    if completion is None:
        why = "not asked yet: run the command without rescore=true"
        return Opinion(name, hallucinated=False, unscored=why)
    if problem := why_no_answer(completion):
        return Opinion(name, hallucinated=False, unscored=f"{problem.kind}: {problem.text}")
    try:
        hallucinated, reason = read_verdict(completion.answer)
    except Unreadable as error:
        return Opinion(name, hallucinated=False, unscored=f"the model's reply: {error}")
    differences = (Difference("model", reason),) if hallucinated else ()
    return Opinion(name, hallucinated, differences)


def read_verdict(text: str) -> tuple[bool, str]:
    """Whether the answer is hallucinated, and the model's reason: one JSON object.

    Raises:
        Unreadable: anything else.
    """
    data = one_object(text, ("verdict",))
    said, reason = data["verdict"], data.get("reason")
    if not isinstance(said, str) or said not in VERDICTS:
        raise Unreadable(WRONG_FIELD, f'"verdict" must be one of {", ".join(VERDICTS)}.')
    return VERDICTS[said], " ".join(reason.split()) if isinstance(reason, str) else ""


def reply_key(model: ModelName, messages: Sequence[Mapping[str, str]]) -> str:
    """All that a reply depends on: the model's name and every word of the request."""
    asked = [dict(message) for message in messages]
    return hash_settings({"model": judge_name(model), "messages": asked})


def _answers(
    examples: Sequence[Sample], config: Comparison, run: Run
) -> Iterator[tuple[SampleView, str]]:
    """Answers that a judge is to read: those that ended by themselves."""
    generations, task = Generations(run.path / "generations"), config.task_of()
    for system in config.evaluation.systems:
        for context in config.contexts:
            stored = generations.read(system, context)
            for example in examples:
                one = stored.get(example.id)
                if one is not None and one.answer.finish_reason in ("stop", "refusal"):
                    yield task.show(example, context), one.answer.text


def _request(view: SampleView, text: str) -> Request:
    assert isinstance(view.gold, Table)
    final = text.rpartition(END_OF_THINKING)[2].strip()
    gold = write_table(view.gold.filled(BLANK), "markdown")
    messages = PROMPTS.render(PROMPT, query=view.query, gold=gold, answer=final)
    return Request(PROMPT, messages, Sampling(LONGEST), schema=SCHEMA)


def _record(key: str, identity: str, completion: Completion) -> dict[str, Any]:
    return {
        "key": key,
        "identity": identity,
        "text": completion.text,
        "prompt_tokens": completion.prompt_tokens,
        "completion_tokens": completion.completion_tokens,
        "finish_reason": completion.finish_reason,
        "error": completion.error,
    }
