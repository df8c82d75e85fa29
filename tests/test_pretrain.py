"""The small world, the skills and the pre-training of the embedded base."""

from __future__ import annotations

import json
import re
import runpy
import sys
from hashlib import sha256
from io import BytesIO
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from transformers import PreTrainedTokenizerFast  # noqa: E402

from tablemend.config import parse  # noqa: E402
from tablemend.config.load import ConfigError  # noqa: E402
from tablemend.config.pretrain import Pretraining, Schedule, Shape, Skills  # noqa: E402
from tablemend.errors import TablemendError  # noqa: E402
from tablemend.records import Example  # noqa: E402
from tablemend.runs import Run, read_jsonl  # noqa: E402
from tablemend.synthesis.small_world import (  # noqa: E402
    ENGINE,
    FIRST_WORDS,
    SCOPE_COLUMN,
    SECOND_WORDS,
    YEARS,
    Size,
    example,
    examples,
)
from tablemend.tasks.tablehallu import messages, quotation, target  # noqa: E402
from tablemend.training import pretrain, skills  # noqa: E402
from tablemend.training.pretrain import (  # noqa: E402
    Batch,
    Trainer,
    batches,
    build_tokenizer,
    collate,
    exact_match,
    full_size,
    rate_at,
    size_at,
)
from tablemend.training.tiny_model import build_model  # noqa: E402

SCRIPT = Path(__file__).parents[1] / "train" / "pretrain.py"

TINY = [
    "recipe=tiny-base",
    "threads=1",
    "vocab_size=600",
    "shape.hidden=32",
    "shape.layers=1",
    "shape.heads=2",
    "shape.intermediate=32",
    "schedule.tokens=12000",
    "schedule.batch_tokens=2048",
]


@pytest.fixture(scope="module")
def config() -> Pretraining:
    return parse(Pretraining, TINY)


@pytest.fixture(scope="module")
def tokenizer(config: Pretraining) -> PreTrainedTokenizerFast:
    return build_tokenizer(config)


def _stream(config: Pretraining, tokenizer: PreTrainedTokenizerFast) -> list[tuple[float, Batch]]:
    shares = config.skills.model_dump()
    return list(batches(tokenizer, config.schedule, shares, full_size(config), config.seed))


def test_same_seed_gives_same_bytes_and_other_seed_other_ones() -> None:
    first = [one.to_json() for one in examples(seed=4, n=20)]
    assert first == [example(4, index).to_json() for index in range(20)]
    both = [*examples(4, 50), *examples(5, 50)]
    assert len({one.adversarial_context for one in both}) == 100


def test_the_stream_changes_only_with_its_version() -> None:
    """Bases and data sets name the version alone: another stream needs another one."""
    records = [example(4, index).to_json() for index in range(20)]
    digest = sha256(json.dumps(records, sort_keys=True).encode()).hexdigest()
    golden = "eb39fbb3ef5659eb75d69e409e6d81279d9b011a36981f1fff28d002d7ec5880"
    assert (ENGINE, digest) == ("small-world/4", golden)


def test_twins_differ_from_an_entity_in_scope_in_the_year_alone() -> None:
    size = Size(distractors=(6, 6), twins=1.0)
    for one in examples(seed=1, n=50, size=size):
        gold = {fact.entity for fact in one.facts if fact.violates is None}
        year = one.constraints.numerical_range
        others = [fact for fact in one.facts if fact.violates is not None]
        assert {fact.entity for fact in others} <= gold
        years = {(f.entity, f.value) for f in others if f.column == SCOPE_COLUMN}
        assert len(years) == 6
        assert year not in {value for _, value in years}


def _rows_of(record: Example) -> dict[tuple[str, str], dict[str, str]]:
    """(entity, year) -> column -> value, read back from the adversarial context's facts."""
    rows: dict[tuple[bool, int], dict[str, str]] = {}
    for fact in record.facts:
        rows.setdefault((fact.violates is None, fact.row), {})[fact.column] = fact.value
    (key,) = skills.KEYS & set(record.gold_table.columns)
    return {(row[key], row[SCOPE_COLUMN]): row for row in rows.values()}


def _years_asked(exercise: skills.Practice) -> list[str]:
    return re.findall(r"\b20\d\d\b", exercise.messages[0]["content"].rsplit("Query:", 1)[1])


def test_every_skill_answers_truly() -> None:
    rng = Random(0)
    for record in examples(seed=2, n=60):
        rows = _rows_of(record)
        quote = skills.quote(record, rng)
        years = _years_asked(quote)
        quoted = quote.target.split("\n")
        assert len(quoted) == len(set(quoted)) == sum(when in years for _, when in rows)
        assert all(line in record.adversarial_context for line in quoted)
        lines = record.adversarial_context.split("\n")
        assert quoted == [line for year in years for line in lines if line[3:7] == year]
        listing = skills.list_entities(record, rng)
        groups = listing.target.removeprefix("They are ").rstrip(".").split("; ")
        for year, group in zip(_years_asked(listing), groups, strict=True):
            stated = [line for line in lines if line[3:7] == year]
            names = [n for line in stated for n, when in rows if when == year and f", {n} " in line]
            assert group.split(", ") == names
            assert len(names) == sum(when == year for _, when in rows)
        asked = skills.look_up(record, rng)
        question = asked.messages[0]["content"].rsplit("Look up: ", 1)[1].rstrip(".")
        answers = asked.target.removeprefix("Found: ").rstrip(".").split(", ")
        for part, answer in zip(question.split(", "), answers, strict=True):
            column, _, where = part.partition(" of ")
            name, _, when = where.partition(" in ")
            row = _rows_of(record)[name, when]
            assert row.get(column.strip('"'), "-") == answer
        ranked = skills.sort(record, rng)
        descending = "descending" in ranked.messages[0]["content"]
        given = ranked.messages[0]["content"].rsplit(" order: ", 1)[1].rstrip(".").split("; ")
        parts = ranked.target.removeprefix("Sorted: ").rstrip(".").split("; ")
        for question, part in zip(given, parts, strict=True):
            asked_pairs = [entry.rsplit(" ", 1) for entry in question.split(", ")]
            pairs = [entry.split(" ", 1) for entry in part.split(", ")]
            assert sorted(pairs) == sorted([value, name] for name, value in asked_pairs)
            values = [int(value) for value, _ in pairs]
            assert values == sorted(values, reverse=descending)


def test_every_skill_has_a_share_in_the_recipe_and_the_reverse() -> None:
    assert set(Skills.model_fields) == set(skills.SKILLS)


def test_names_and_years_are_one_token_each() -> None:
    tokenizer = build_tokenizer(parse(Pretraining, ["recipe=tiny-base"]))
    for word in [*FIRST_WORDS, *SECOND_WORDS, *map(str, YEARS)]:
        assert len(tokenizer.encode(f" {word}", add_special_tokens=False)) == 1, word


@pytest.mark.parametrize(
    ("override", "key"),
    [
        ("world.attributes=[1,3]", "world.attributes"),
        ("world.attributes=[2,5]", "world.attributes"),
        ("world.rows=[0,3]", "world.rows"),
        ("world.rows=[2,9]", "world.rows"),
        ("world.distractors=[0,3]", "world.distractors"),
        ("world.distractors=[3,20]", "world.distractors"),
        ("world.rows=[3,2]", "world.rows"),
        ("skills={" + ", ".join(f"{name}: 0" for name in skills.SKILLS) + "}", "skills.repeat"),
    ],
)
def test_what_would_crash_mid_run_is_refused_before(override: str, key: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(key)):
        parse(Pretraining, [*TINY, override])


@pytest.mark.parametrize("end", [0, 1])
def test_the_widest_and_the_smallest_world_can_be_made(end: int) -> None:
    fields = {"rows": (1, 8), "attributes": (2, 4), "distractors": (1, 19)}
    sizes = {name: (bounds[end], bounds[end]) for name, bounds in fields.items()}
    for rows in (1, sizes["rows"][0]):
        size = Size(**{**sizes, "rows": (rows, rows)}, twins=1.0)
        assert all(one.gold_table.rows for one in examples(seed=7, n=20, size=size))


def test_no_exercise_is_a_table_from_an_adversarial_context() -> None:
    shares = dict.fromkeys(skills.SKILLS, 1.0)
    kinds = set()
    for index in range(300):
        exercise = skills.practice(0, index, shares, Size())
        record = example(skills.PRACTICE_SEED, index, Size())
        kinds.add(exercise.skill)
        text = exercise.messages[0]["content"]
        if exercise.skill in ("table", "plain_table", "quoted_table", "repeat"):
            assert record.gold_context in text
            assert record.adversarial_context not in text
        else:
            assert "####" not in exercise.target
            assert "|" not in exercise.target
    assert kinds == set(skills.SKILLS)


def test_the_sort_column_stands_first_and_tells_the_rows_apart() -> None:
    for record in examples(seed=3, n=50):
        table = record.gold_table
        assert table.columns[0] == record.constraints.sort_column
        values = [int(row[0] or 0) for row in table.rows]
        assert values == sorted(set(values))


def test_contexts_hold_one_sentence_a_line() -> None:
    for record in examples(seed=3, n=20):
        for kind in ("clean", "adversarial"):
            lines = record.context(kind).split("\n")
            assert all(re.fullmatch(r"In 20\d\d, [^.]+\.", line) for line in lines)


def test_quoted_tables_quote_with_thinking_on() -> None:
    record = example(2, 0)
    exercise = skills.quoted_table(record, Random(0))
    assert exercise.thinking == "quote"
    assert exercise.target.startswith(f"<think>\n{record.gold_context}\n</think>\n\n####")


def test_first_layer_starts_by_looking_back(tokenizer: PreTrainedTokenizerFast) -> None:
    shape = Shape(hidden=128, layers=1, heads=4, intermediate=32)
    model = build_model(shape, tokenizer, 256, seed=1).eval()
    model.set_attn_implementation("eager")
    ids = torch.randint(0, 500, (2, 60), generator=torch.Generator().manual_seed(0))
    (weights,) = model(ids, output_attentions=True).attentions  # (texts, heads, to, from)
    for head in range(3):
        back = weights[:, head].diagonal(-(head + 1), 1, 2)[:, 3:]
        assert back.mean() > 0.7
    assert weights[:, 3].diagonal(-1, 1, 2).mean() < 0.3


def test_quotation_states_every_gold_fact_and_no_other() -> None:
    for record in examples(seed=6, n=50):
        text = quotation(record, "adversarial")
        sentences = set(text.split("\n"))
        for fact in record.facts:
            mention = fact.adversarial
            whole = record.adversarial_context[mention.sentence_start : mention.sentence_end]
            assert (whole in sentences) == (fact.violates is None)


def test_examples_grow_from_smallest_to_full() -> None:
    full = Size(rows=(2, 3), attributes=(2, 3), distractors=(3, 6))
    assert size_at(0.0, full, 0.2).rows == (1, 1)
    assert size_at(0.0, full, 0.2).distractors == (1, 1)
    assert size_at(0.2, full, 0.2) == full
    assert size_at(0.9, full, 0.2) == full


def test_batches_weigh_targets_and_never_padding(
    config: Pretraining, tokenizer: PreTrainedTokenizerFast
) -> None:
    _, batch = _stream(config, tokenizer)[0]
    assert batch.ids.numel() <= config.schedule.batch_tokens
    ends = (batch.ids == tokenizer.eos_token_id).int()
    for ids, weights, end in zip(batch.ids, batch.weights, ends, strict=True):
        last = int(end.nonzero()[-1])
        assert weights[last] == 1.0
        assert not weights[last + 1 :].any()
        answer = tokenizer.decode(ids[(weights == 1.0)])
        assert answer.endswith("<|im_end|>")
        assert "<|im_start|>" not in answer


@pytest.mark.parametrize("tokens", [1, 12_000, 150_000])  # the last needs a second pool
def test_the_run_ends_with_the_batch_that_reaches_the_tokens(
    tokens: int, config: Pretraining, tokenizer: PreTrainedTokenizerFast
) -> None:
    schedule = config.schedule.model_copy(update={"tokens": tokens})
    stream = _stream(config.model_copy(update={"schedule": schedule}), tokenizer)
    sizes = [batch.ids.numel() for _, batch in stream]
    assert sum(sizes[:-1]) < tokens <= sum(sizes)
    assert all(0 <= progress < 1 for progress, _ in stream)


def test_an_exercise_beyond_the_window_is_refused(config: Pretraining) -> None:
    short = build_tokenizer(config.model_copy(update={"context_length": 100}))
    with pytest.raises(TablemendError, match="context_length is 100"):
        _stream(config, short)


def test_the_rate_rises_stays_and_falls_to_zero(config: Pretraining) -> None:
    schedule: Schedule = config.schedule.model_copy(update={"warmup": 0.1, "decay": 0.5})
    assert rate_at(0.0, schedule) == pytest.approx(0.001)
    assert rate_at(0.05, schedule) == pytest.approx(0.5)
    assert rate_at(0.1, schedule) == rate_at(0.5, schedule) == 1.0
    assert rate_at(0.75, schedule) == pytest.approx(0.5)
    assert rate_at(1.0, schedule) == rate_at(1.1, schedule) == 0.0


@torch.no_grad()
def test_exact_match_is_what_greedy_decoding_writes(
    config: Pretraining, tokenizer: PreTrainedTokenizerFast
) -> None:
    model = build_model(config.shape, tokenizer, config.context_length, seed=3).eval()
    prompt = tokenizer.encode("Context: In 2012, Bal Bek had 3 wells.")
    written = list(prompt)
    for _ in range(8):
        written.append(int(model(torch.tensor([written])).logits[0, -1].argmax()))
    target = written[len(prompt) :]
    wrong = [*target[:-1], (target[-1] + 1) % len(tokenizer)]
    batch = collate([(prompt, target, "right"), (prompt, wrong, "wrong")], 0.0)
    assert exact_match(model, batch) == {"right": (1, 1), "wrong": (0, 1)}
    longer = collate([(prompt, target, "one"), (prompt * 2, target, "two")], 0.1)  # padded
    assert exact_match(model, longer)["one"] == (1, 1)


def _through_a_file(state: dict[str, Any]) -> dict[str, Any]:
    file = BytesIO()
    torch.save(state, file)
    file.seek(0)
    return dict(torch.load(file, weights_only=True))


def test_resumed_training_equals_uninterrupted(
    config: Pretraining, tokenizer: PreTrainedTokenizerFast
) -> None:
    whole = Trainer(config, tokenizer)
    losses = list(whole.steps())
    first = Trainer(config, tokenizer)
    assert len(list(islice(first.steps(), 2))) == 2
    second = Trainer(config, build_tokenizer(config))  # as another process would
    second.load_state(_through_a_file(first.state()))
    rest = list(second.steps())
    assert len(rest) > 2
    assert rest == pytest.approx(losses[2:], rel=1e-6)
    for name, weight in whole.model.state_dict().items():
        torch.testing.assert_close(second.model.state_dict()[name], weight)


@pytest.mark.parametrize("name", ["engine", "tokenizer"])
def test_a_state_of_another_world_or_tokenizer_is_refused(
    name: str, config: Pretraining, tokenizer: PreTrainedTokenizerFast
) -> None:
    trainer = Trainer(config, tokenizer)
    state = trainer.state()
    with pytest.raises(TablemendError, match=f"of another {name}: the code has changed"):
        trainer.load_state({**state, name: "other"})
    del state[name]
    with pytest.raises(TablemendError, match=name):
        trainer.load_state(state)


def test_divergence_stops_before_the_weights_are_spoilt(
    config: Pretraining, tokenizer: PreTrainedTokenizerFast
) -> None:
    trainer = Trainer(config, tokenizer)
    with torch.no_grad():
        trainer.model.model.norm.weight[0] = torch.inf
    with pytest.raises(TablemendError, match=r"step 1: loss (nan|inf).* diverged"):
        list(trainer.steps())
    assert torch.isfinite(trainer.model.lm_head.weight).all()
    assert trainer.step == 0


def test_held_out_exercises_are_of_every_skill(
    config: Pretraining, tokenizer: PreTrainedTokenizerFast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pretrain, "TEST_EXERCISES", 64)
    tested = Trainer(config, tokenizer).test([])
    assert set(tested.exact) == set(skills.SKILLS)
    assert tested.loss is None


def test_saved_base_loads_and_ends_its_turn(
    config: Pretraining, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    trainer = Trainer(config, tokenizer)
    next(trainer.steps())
    trainer.save(tmp_path / "base")
    assert [path.name for path in tmp_path.iterdir()] == ["base"]
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "base")
    loaded = AutoTokenizer.from_pretrained(tmp_path / "base")
    assert model.dtype == torch.bfloat16
    for name, weight in trainer.model.named_parameters():
        assert torch.equal(model.get_parameter(name), weight.to(torch.bfloat16)), name
    assert model.generation_config.use_cache is not False
    assert model.config.use_cache is not False
    assert loaded.convert_ids_to_tokens(model.generation_config.eos_token_id) == "<|im_end|>"
    assert loaded.chat_template == tokenizer.chat_template


def test_a_folder_with_other_things_is_not_replaced(
    config: Pretraining, tokenizer: PreTrainedTokenizerFast, tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(TablemendError, match="something else"):
        Trainer(config, tokenizer).save(tmp_path)
    assert (tmp_path / "thesis.tex").exists()


def test_the_script_continues_stops_when_finished_and_tells_what_it_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main = runpy.run_path(str(SCRIPT))["main"]
    monkeypatch.setattr(pretrain, "TOKENIZER_EXERCISES", 100)
    monkeypatch.setattr(pretrain, "TEST_EXERCISES", 8)

    def call(name: str, *more: str) -> Path:
        run = tmp_path / f"run-{name}"
        overrides = [f"run={run}", f"out={tmp_path / name}", "log_every=1", "save_every=2"]
        monkeypatch.setattr(sys, "argv", ["pretrain.py", *TINY, *overrides, *more])
        main()
        return run

    def interrupt(trainer: Trainer) -> dict[str, Any]:
        if trainer.step == 4:  # logged, not saved
            raise KeyboardInterrupt
        return state_of(trainer)

    whole = call("whole")
    state_of = Trainer.state
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Trainer, "state", interrupt)
        call("resumed")
    assert not (tmp_path / "resumed").exists()
    with pytest.raises(TablemendError, match="context_length was 1024, is 900"):
        call("resumed", "context_length=900")
    resumed = call("resumed")
    assert "at step 2" in capsys.readouterr().out

    keys = ("step", "tokens", "exact")  # losses and seconds are of one process
    lines = [[[line[k] for k in keys] for line in read_jsonl(run / "log.jsonl")] for run in
             (whole, resumed)]  # fmt: skip
    assert lines[0] == lines[1]
    noted = [Run(run).recorded("pretrain") for run in (whole, resumed)]
    assert noted[0]["engine"] == ENGINE
    assert noted[0]["weights"].startswith("sha256:")
    assert noted[0]["weights"] == noted[1]["weights"]

    before = (resumed / "log.jsonl").read_bytes()
    call("resumed")
    assert "finished: " in capsys.readouterr().out
    assert (resumed / "log.jsonl").read_bytes() == before
    call("resumed", "overwrite=true")
    assert "saved " in capsys.readouterr().out
    assert Run(resumed).recorded("pretrain")["weights"] == noted[0]["weights"]


def test_chat_template_equals_qwen3s_for_text_chats() -> None:
    trl = pytest.importorskip("trl")
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    from tablemend.training.tokenizer import TEMPLATE

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    ours = environment.from_string(TEMPLATE.read_text())
    folder = Path(trl.__file__).parent / "chat_templates"
    theirs = environment.from_string((folder / "qwen3.jinja").read_text())
    user, system = {"role": "user", "content": "Q"}, {"role": "system", "content": "S"}
    thought = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nA"}
    plain = {"role": "assistant", "content": "A"}
    chats = [
        [user],
        [system, user],
        [user, plain],
        [user, thought],
        [user, thought, user],
        [system, user, plain, user, thought],
    ]
    for chat in chats:
        for thinking in (True, False):
            for prompt in (True, False):
                options = {
                    "messages": chat,
                    "add_generation_prompt": prompt,
                    "enable_thinking": thinking,
                }
                assert ours.render(**options) == theirs.render(**options)


def test_target_after_prompt_is_what_the_template_would_render() -> None:
    """Our prompt + target + end of turn equals the template's rendering of the whole chat."""
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    from tablemend.training.tokenizer import TEMPLATE

    template = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(
        TEMPLATE.read_text()
    )
    record = example(3, 0)
    chat = messages(record, "adversarial")
    for thinking in ("off", "quote"):
        answer = target(record, "adversarial", thinking)
        prompt = template.render(
            messages=chat, add_generation_prompt=True, enable_thinking=thinking != "off"
        )
        whole = template.render(messages=[*chat, {"role": "assistant", "content": answer}])
        assert whole == f"{prompt}{answer}<|im_end|>\n"
