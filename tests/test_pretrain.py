"""The small world, the skills and the pre-training of the embedded base."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

torch = pytest.importorskip("torch")

from tablemend.config import parse  # noqa: E402
from tablemend.config.pretrain import Pretraining, Shape  # noqa: E402
from tablemend.records import Example  # noqa: E402
from tablemend.synthesis.small_world import SCOPE_COLUMN, Size, example, examples  # noqa: E402
from tablemend.tasks.tablehallu import messages, quotation, target  # noqa: E402
from tablemend.training import skills  # noqa: E402
from tablemend.training.pretrain import (  # noqa: E402
    Trainer,
    batches,
    build_model,
    build_tokenizer,
    exact_match,
    full_size,
    size_at,
)

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


def test_same_seed_gives_same_bytes_and_other_seed_other_ones() -> None:
    first = [one.to_json() for one in examples(seed=4, n=20)]
    assert first == [example(4, index).to_json() for index in range(20)]
    assert len({one.id for one in [*examples(4, 50), *examples(5, 50)]}) == 100


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
        assert {line[3:7] for line in quoted} == set(years)
        listing = skills.list_entities(record, rng)
        groups = listing.target.removeprefix("They are ").rstrip(".").split("; ")
        for year, group in zip(_years_asked(listing), groups, strict=True):
            assert sorted(group.split(", ")) == sorted(n for n, when in rows if when == year)
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
        for part in ranked.target.removeprefix("Sorted: ").rstrip(".").split("; "):
            values = [int(entry.split(" ", 1)[0]) for entry in part.split(", ")]
            assert values == sorted(values, reverse=descending)


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


def test_first_layer_starts_by_looking_back(config: Pretraining) -> None:
    shape = Shape(hidden=128, layers=1, heads=4, intermediate=32)
    model = build_model(shape, build_tokenizer(config), 256, seed=1).eval()
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


def test_batches_weigh_targets_and_never_padding(config: Pretraining) -> None:
    tokenizer = build_tokenizer(config)
    shares = config.skills.model_dump()
    stream = batches(tokenizer, config.schedule, shares, full_size(config), config.seed)
    _, batch = next(stream)
    assert batch.ids.numel() <= config.schedule.batch_tokens
    ends = (batch.ids == tokenizer.eos_token_id).int()
    for ids, weights, end in zip(batch.ids, batch.weights, ends, strict=True):
        last = int(end.nonzero()[-1])
        assert weights[last] == 1.0
        assert not weights[last + 1 :].any()
        answer = tokenizer.decode(ids[(weights == 1.0)])
        assert answer.endswith("<|im_end|>")
        assert "<|im_start|>" not in answer


def test_exact_match_is_what_greedy_decoding_writes(config: Pretraining) -> None:
    """A model that has memorised one exercise is right on it and on nothing else."""
    tokenizer = build_tokenizer(config)
    trainer = Trainer(config, tokenizer)
    shares = config.skills.model_dump()
    stream = batches(tokenizer, config.schedule, shares, full_size(config), config.seed)
    _, batch = next(stream)
    counts = exact_match(trainer.model, batch)
    assert sum(total for _, total in counts.values()) == len(batch.skills)
    assert sum(hits for hits, _ in counts.values()) == 0  # random weights


def test_resumed_training_equals_uninterrupted(config: Pretraining) -> None:
    tokenizer = build_tokenizer(config)
    whole = Trainer(config, tokenizer)
    losses = list(whole.steps())
    first = Trainer(config, tokenizer)
    for _, _loss in zip(range(2), first.steps(), strict=False):
        pass
    second = Trainer(config, tokenizer)
    second.load_state(first.state())
    assert first.step >= 2
    rest = list(second.steps())
    assert rest == pytest.approx(losses[first.step :], rel=1e-6)
    for name, weight in whole.model.state_dict().items():
        torch.testing.assert_close(second.model.state_dict()[name], weight)


def test_saved_base_loads_and_ends_its_turn(config: Pretraining, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    trainer = Trainer(config, build_tokenizer(config))
    trainer.save(tmp_path)
    model = AutoModelForCausalLM.from_pretrained(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert model.dtype == torch.bfloat16
    assert tokenizer.convert_ids_to_tokens(model.generation_config.eos_token_id) == "<|im_end|>"
    assert tokenizer.chat_template == trainer.tokenizer.chat_template


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
