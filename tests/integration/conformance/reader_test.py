#!/usr/bin/env python3
"""The reader of the conformance vectors refuses each of some altered values: what it says is no formality."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

READER, VECTORS = sys.argv[1:]
# A file, and the member whose last digit is changed in its first case.
MEMBERS = [("programs", "trace_header"), ("macros", "trace_root"), ("macros", "flops"), ("units", "trace_root"), ("units", "final_state_root"),
           ("units", "delta_root"), ("units", "base_blob"), ("units", "outer_blob"), ("protocol", "epoch_root"), ("protocol", "facts_hash"), ("protocol", "trace"),
           ("money", "epoch_file_root"), ("money", "leaf")]

for name, member in MEMBERS:
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place) / "vectors"
        shutil.copytree(VECTORS, folder)
        file = folder / "conformance" / f"{name}.json"
        text = file.read_text(encoding="utf-8")
        found = re.search(rf'\\?"{member}\\?": ?"?(?:0x)?[0-9a-f]+', text)
        assert found, f"{name} has no {member}"
        at = found.end() - 1
        file.write_text(text[:at] + ("1" if text[at] != "1" else "2") + text[at + 1:], encoding="utf-8")
        done = subprocess.run([sys.executable, READER, str(folder), name], capture_output=True, text=True, check=False)
        told = done.returncode == 1 and ": expected" in done.stderr
        assert told, f"{name}: an altered {member} passed\n{done.stdout}{done.stderr}"
print(f"{len(MEMBERS)} altered values, each of them found")
