"""The run folder, the one resumable store of records, and files that are never half-written."""

from tablemend.runs.files import (
    LOCK,
    disk_errors,
    hash_file,
    hash_text,
    is_special,
    moved_beside,
    read_jsonl,
    read_object,
    replace_file,
    sole_writer,
    sync,
    sync_all,
    to_line,
    write_json,
    write_jsonl,
    write_text,
    written_to,
)
from tablemend.runs.run import MOVE_AWAY, RUNS, Run, folder_of, say, surroundings
from tablemend.runs.store import Store, hash_settings, leaves, refuse_other, settings_of
