"""transformers as an engine: the training prefix, groups by sampling, misfits, lazy weights."""

from __future__ import annotations

from pathlib import Path

import pytest

from tablemend.backends import hf
from tablemend.backends.checkpoints import Checkpoint
from tablemend.backends.hf import HFEngine
from tablemend.backends.requests import Prompt, Request, Sampling
from tablemend.config.section import BackendOptions
from tablemend.renderer import prompt_ids

SHORT, LONG = Sampling(5), Sampling(9)


def ask(name: str, text: str = "Context:\nAnn is 3.", **options) -> Request:
    return Request(name, [{"role": "user", "content": text}], **{"sampling": SHORT, **options})


@pytest.fixture
def engine(tiny_model: Path) -> HFEngine:
    return HFEngine(Checkpoint(str(tiny_model)), BackendOptions(batch_size=3, dtype="float32"))


def test_answers_are_those_of_the_training_prefix(engine: HFEngine, tiny_model: Path) -> None:
    requests = [
        ask(f"{thinking}.{index}", f"Row {index} of the table.", thinking=thinking)
        for index in range(4)
        for thinking in (True, False, None)
    ]
    model = hf.load_model(Checkpoint(str(tiny_model)), dtype="float32")
    for request in requests:
        ids = prompt_ids(model.tokenizer, request.messages, request.thinking)
        (alone,) = model.generate([Prompt(request.id, tuple(ids))], SHORT, 1)
        (own,) = engine.generate([request])
        assert (own.text, own.prompt_tokens) == (alone.text, len(ids))
        assert own.finish_reason == alone.finish_reason
    lengths = {
        thinking: next(engine.generate([ask("x", thinking=thinking)])).prompt_tokens
        for thinking in (True, False)
    }
    assert lengths[False] > lengths[True]  # the empty thinking block is part of the prompt


def test_every_request_keeps_its_own_sampling(engine: HFEngine) -> None:
    requests = [ask(f"s{i}", sampling=SHORT if i % 2 else LONG) for i in range(7)]
    done = {one.id: one for one in engine.generate(requests)}
    assert set(done) == {request.id for request in requests}
    cut = [one for one in done.values() if one.finish_reason == "length"]
    assert cut  # a random model seldom ends
    assert all(one.completion_tokens == (5 if int(one.id[1:]) % 2 else 9) for one in cut)


def test_a_prompt_that_does_not_fit_fails_alone_and_is_refused_beforehand(
    engine: HFEngine,
) -> None:
    requests = [ask("fits"), ask("misfit", "word " * 3000)]
    (name,) = engine.too_long(requests)
    assert name == "misfit"
    assert engine._model is None
    done = {one.id: one for one in engine.generate(requests)}
    assert done["fits"].finish_reason in ("stop", "length")
    assert done["misfit"].finish_reason == "error"
    assert "do not fit into a window of 1024 tokens" in done["misfit"].error
    assert done["misfit"].text == ""


def test_weights_are_loaded_once_when_needed_and_let_go(
    engine: HFEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = []
    load = hf.load_model

    def count(*arguments, **options):
        loaded.append(arguments)
        return load(*arguments, **options)

    monkeypatch.setattr(hf, "load_model", count)
    assert engine.too_long([ask("a")]) == {}
    assert engine.identity["fingerprint"] and not loaded
    first = [one.text for one in engine.generate([ask("a")])]
    list(engine.generate([ask("b")]))
    assert len(loaded) == 1
    engine.close()
    engine.close()
    assert engine._model is None
    assert [one.text for one in engine.generate([ask("a")])] == first
    assert len(loaded) == 2
