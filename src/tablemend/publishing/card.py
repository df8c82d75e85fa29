"""The model card: everything from the manifest and the results, nothing by hand."""

from __future__ import annotations

import json
from typing import Any

import yaml
from huggingface_hub import ModelCard
from transformers import PreTrainedTokenizerBase as Tokenizer

from tablemend import __version__
from tablemend.config import HUB
from tablemend.evaluation.systems import other_test
from tablemend.publishing.command import PublishCommand
from tablemend.publishing.metadata import metadata
from tablemend.publishing.recorded import Recorded, chain_of
from tablemend.publishing.reproduction import (
    BEHIND,
    commands_as_run,
    commands_from_card,
    recipe_of,
)
from tablemend.publishing.scores import Scores
from tablemend.records import ContextKind
from tablemend.renderer import prompt_text
from tablemend.reports.content import agreement_table, rate_table, setting_table
from tablemend.reports.rendering import align
from tablemend.reports.wording import (
    TOTAL,
    main_share,
    metrics_of,
    say_cut,
    say_tests,
    second_scorers,
    short_name,
    tests_of,
    total_of,
)
from tablemend.statistics import Rate

HOUR = 3600


def write_card(
    recorded: Recorded,
    scores: Scores | None,
    command: PublishCommand,
    tokenizer: Tokenizer,
    lacking: list[str],
) -> ModelCard:
    """The card of a checkpoint.

    Args:
        recorded: its training.
        scores: its comparison; ``None`` where there was none.
        command: name, licence, benchmark.
        tokenizer: the one that is published.
        lacking: what is missing; said at its head.
    """
    data = metadata(recorded, scores, command)
    parts = [
        f"# {command.repo_id.partition('/')[2]}",
        *([f"> **Not ready to be used.** Missing: {'; '.join(lacking)}."] if lacking else []),
        _summary(recorded, command),
        "## How to use it",
        *_usage(recorded, scores, command, tokenizer),
        "## Results",
        *(
            _results(recorded, scores, command)
            if scores is not None
            else ["There was no comparison."]
        ),
        "## Training",
        *(part for one in chain_of(recorded) for part in _training(one)),
        "## To reproduce it",
        *_reproduction(recorded, scores, command),
        "## Limits",
        _limits(scores),
    ]
    return ModelCard(f"---\n{data.to_yaml()}\n---\n\n" + "\n\n".join(parts) + "\n")


TRAININGS = {
    "sft": "supervised fine-tuning",
    "dpo": "preference training (DPO)",
    "grpo": "training on rewards (GRPO)",
}


def _summary(recorded: Recorded, command: PublishCommand) -> str:
    config = recorded.config
    what = "An adapter (LoRA)" if recorded.is_adapter and not command.merged else "A model"
    merged = ", merged into the unquantised base" if command.merged else ""
    chain = chain_of(recorded)
    trainings = ", then ".join(TRAININGS[one.stage] for one in chain)
    return (
        f"{what} for {recorded.config.task.replace('_', ' ')}{merged}. Made from "
        f"`{chain[0].config.model.path}` by {trainings} with tablemend {__version__}, recipe "
        f"`{config.name}`."
    )


def _usage(
    recorded: Recorded, scores: Scores | None, command: PublishCommand, tokenizer: Tokenizer
) -> list[str]:
    config = recorded.config
    task, thinking = config.task_of(), config.thinking != "off"
    *system, user = task.template(config.train.prompt)
    words = user["content"]
    rendered = prompt_text(tokenizer, [*system, user], thinking)
    filled = "".join(f".replace('{{{slot}}}', {slot})" for slot in task.slots)
    turns = [f"{dict(turn)!r}, " for turn in system]
    if recorded.is_adapter and not command.merged:
        load = "from peft import AutoPeftModelForCausalLM as Model"
    else:
        load = "from transformers import AutoModelForCausalLM as Model"
    code = (
        f"{load}\nfrom transformers import AutoTokenizer\n\n"
        f'name = "{command.repo_id}"\n'
        "tokenizer, model = AutoTokenizer.from_pretrained(name), Model.from_pretrained(name)\n"
        f"words = PROMPT{filled}\n"
        f"chat = [{''.join(turns)}{{'role': 'user', 'content': words}}]\n"
        "ids = tokenizer.apply_chat_template(\n"
        f"    chat, add_generation_prompt=True, enable_thinking={thinking}, "
        "return_tensors='pt', return_dict=True\n)\n"
        f"answer = model.generate(**ids, {_decoding(recorded, scores)})\n"
        "answer = tokenizer.decode(answer[0, ids['input_ids'].shape[1]:], skip_special_tokens=True)"
        f"\nprint(answer.rpartition({task.begins!r})[2])  # what stands before may be thought"
    )
    return [
        "Its results hold for the prompts that it was trained on. `PROMPT`, verbatim:",
        _fenced(words),
        "As the chat template renders it, up to where the model's turn begins:",
        _fenced(rendered),
        _fenced(code, "python"),
    ]


def _decoding(recorded: Recorded, scores: Scores | None) -> str:
    """The arguments of ``generate`` that the results were made with, else the recipe's.

    Said in full: a base's own generation_config may sample where the comparison did not.
    """
    evaluation = recorded.config.evaluation
    asked: dict[str, Any] = {}
    if scores is not None and scores.system is not None:
        asked = scores.results["settings"][scores.system]
    temperature = asked.get("temperature", evaluation.temperature)
    most = asked.get("max_new_tokens", evaluation.max_new_tokens)
    if not temperature:
        return f"max_new_tokens={most}, do_sample=False"
    return f"max_new_tokens={most}, do_sample=True, temperature={temperature}, top_p=1.0, top_k=0"


def _fenced(text: str, language: str = "text") -> str:
    fence = "`" * 3
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def _results(recorded: Recorded, scores: Scores, command: PublishCommand) -> list[str]:
    results = scores.results
    data = results["data"]
    judges = [results["judge"], *second_scorers(results)]
    apart = ", which share no code" if len(judges) > 1 else ""
    share = main_share(results)
    reading = (
        f" Read it beside {share.title}: who writes nothing makes no mistake." if share else ""
    )
    parts = [
        f"{results['n']} held-out examples ({_named(data)}, hash `{data['hash']}`), the same for "
        f"every system; {_held_out(recorded, data)}. Scored by {' and '.join(judges)}{apart}. "
        f"Shares of the scored answers in percent, with 95 % intervals; {say_cut(results)}. "
        f"TotalHallu is the share of answers with {total_of(results).meaning}: lower is better."
        f"{reading}",
    ]
    if command.merged:
        parts.append(_of_the_adapter(recorded.run.recorded("merge")))
    for context in scores.contexts:
        name = results["contexts"][context]
        parts += [f"### On {name}", _rates(scores, context)]
        parts += filter(None, ["\n".join(f"- {one}" for one in _tests(scores, context))])
    parts += ["### How they were asked", setting_table(results, scores.systems).markdown()]
    return [*parts, "### What goes wrong", *_failures(scores), *_agreement(scores)]


def _of_the_adapter(merge: dict[str, Any]) -> str:
    """What the results of an adapter say of the weights that it was merged into."""
    return (
        "The results are those of the adapter on its base. These weights hold it merged: on "
        f"{merge['prompts']} prompts a logit differs by {merge['max_logit_difference']:.2g} at "
        f"most, and {merge['same_next_token']:.1%} of the next tokens are the same."
    )


def _held_out(recorded: Recorded, data: dict[str, Any]) -> str:
    """What is known of tables that stand in training and test data."""
    for test in (one.config.data.test for one in chain_of(recorded)):
        kept = test.model_dump(mode="json")
        if test.source.startswith(HUB) or other_test(kept, kept | data):
            return "whether the training data shares a table with them was not checked"
    return "the training refuses data that shares a table with them"


def _named(data: dict[str, Any]) -> str:
    return " ".join([data["source"], *([f"split {data['split']}"] if data.get("split") else [])])


def _rates(scores: Scores, context: ContextKind) -> str:
    shown = [metric for metric in metrics_of(scores.results) if metric.kind != "error"]
    shown.sort(key=lambda metric: metric.name != TOTAL)
    systems = {system: f"{scores.role(system)} (system {system})" for system in scores.systems}
    return rate_table(scores.results, context, shown, systems).markdown()


def _tests(scores: Scores, context: ContextKind) -> list[str]:
    """The paired tests of the checkpoint against each base, by both scorers."""
    results, total, second = scores.results, total_of(scores.results), scores.results["second"]
    said = []
    for base in scores.systems:
        if base == scores.system:
            continue
        tests = tests_of(results["paired"], context, TOTAL, base, scores.system)
        said += say_tests(tests, results["systems"], total)
        for scorer in second_scorers(results):
            tests = tests_of(second["paired"][scorer], context, TOTAL, base, scores.system)
            sentences = say_tests(tests, second["systems"][scorer], total)
            said += [f"By {short_name(scorer)}: {sentence}" for sentence in sentences]
    return said


def _failures(scores: Scores) -> list[str]:
    """How many answers of the checkpoint show each error, as the detector names it."""
    if scores.system is None:
        return ["No system of the comparison answers with the checkpoint."]
    own = scores.results["systems"][scores.system]
    rows = [["answers of the checkpoint", *scores.contexts]]
    errors = [metric for metric in metrics_of(scores.results) if metric.kind == "error"]
    for error in errors:
        rows.append([error.title, *(_count(own[c][error.name]) for c in scores.contexts)])
    rows.append(["of", *(str(own[c][TOTAL]["n"]) for c in scores.contexts)])
    meanings = "\n".join(f"- **{error.title}**: {error.meaning}" for error in errors)
    return [align(rows), meanings]


def _count(rate: Rate) -> str:
    return "0" if rate["rate"] is None else str(round(rate["rate"] * rate["n"]))


def _agreement(scores: Scores) -> list[str]:
    table = agreement_table(scores.results, scores.systems)
    return ["### Do the scorers agree?", table.markdown()] if table else []


def _training(recorded: Recorded) -> list[str]:
    config, facts = recorded.config, recorded.facts
    dropped = facts.get("dropped", {})
    data = config.model_dump(mode="json", exclude_defaults=True)["data"]["train"]
    rows = {
        "began with": f"`{config.model.path}`, {facts.get('model_revision', 'unknown')}",
        "data": f"`{json.dumps(data)}`, rows hash `{facts.get('rows_hash', 'unknown')}`",
        **_of_the_method(facts),
        "rows": f"{facts.get('rows', 'unknown')}, dropped {sum(dropped.values())}"
        + "".join(f"; {count} {reason}" for reason, count in dropped.items()),
        "chat template": f"hash `{facts.get('template_hash', 'unknown')}`",
        "prompts": f"hash `{facts.get('prompt_hash', 'unknown')}`",
        **({"table format": config.format} if config.task_of().format else {}),
        "thinking": config.thinking,
        "steps, tokens": f"{facts.get('steps', 'unknown')}, {facts.get('tokens', 'unknown')}",
        **({"ended early": facts["ended_early"]} if facts.get("ended_early") else {}),
        "last loss": f"{facts['last_loss']:.4g}" if "last_loss" in facts else "unknown",
        "seed": str(config.seed),
        "hardware": ", ".join(
            [
                str(facts.get("machine", "unknown")),
                *([facts["device"]] if "device" in facts else []),
                f"{facts.get('world_size', 'unknown')} process(es)",
                str(facts.get("strategy", "single")),
            ]
        ),
        "hours": f"{facts['seconds'] / HOUR:.2f}" if "seconds" in facts else "unknown",
        "code": f"commit {facts.get('commit') or 'unknown'}"
        + (", with changes that are not committed" if facts.get("dirty") else ""),
        "packages": ", ".join(f"{n} {v}" for n, v in facts.get("packages", {}).items()),
    }
    settings = {"train": config.train.model_dump(mode="json")}
    for name, section in (("dpo", config.dpo), ("grpo", config.grpo)):
        if section is not None:
            settings[name] = section.model_dump(mode="json")
    shown = yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
    head = TRAININGS[recorded.stage]
    return [
        f"### {head[0].upper()}{head[1:]}",
        "\n".join(f"- {name}: {value}" for name, value in rows.items()),
        _fenced(shown.strip(), "yaml"),
    ]


def _reproduction(recorded: Recorded, scores: Scores | None, command: PublishCommand) -> list[str]:
    compared = scores is not None
    typed = "\n".join(filter(None, commands_as_run(recorded, compared, command.merged)))
    again = "\n".join(commands_from_card(recorded, compared, command.merged))
    return [
        "As it was run, in a clone of tablemend at the commit above; recipes, data and folders may "
        "be its author's alone:",
        _fenced(typed or "unknown", "sh"),
        f"The same from this repository, fetched to `FOLDER`, whose `{BEHIND}/` holds every "
        "resolved recipe:",
        _fenced(again, "sh"),
        f"Beside `{recipe_of(recorded, 0)}` are `manifest.json` (versions, hashes, counts) and "
        "`results.json` (every number of this page).",
    ]


def _of_the_method(facts: dict[str, Any]) -> dict[str, str]:
    """What only pairs or rewards have."""
    found = {}
    if "pairs_hash" in facts:
        made = facts.get("pairs_made", {})
        kinds = ", ".join(f"{name} {n}" for name, n in made.get("rejected", {}).items())
        found["pairs"] = f"{facts['pairs']}, hash `{facts['pairs_hash']}`; rejected: {kinds}"
    if "rewards" in facts:
        mean = facts["rewards"]["mean"]
        found["reward"] = (
            f"{facts['reward']}, mean {mean['reward']:.3f}; "
            f"{mean['equal_groups']:.0%} of the groups had equal rewards, and taught nothing"
        )
    return found


def _limits(scores: Scores | None) -> str:
    limits = (
        "The rates hold for the examples, prompt and decoding above; another domain, language, "
        "format or prompt was not measured. Intervals say what other examples of the same "
        "kind might give, not what another training seed would. A low rate is no promise for a "
        "single answer: check what matters against its source."
    )
    if scores is not None and scores.results["data"]["source"] == "small-world":
        limits += (
            " The test data is tablemend's small world: invented names, one sentence a row, two or "
            "three rows. It shows that the method works and the level of no real task."
        )
    return limits
