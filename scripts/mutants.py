#!/usr/bin/env python3
"""mutants.py BUILD_DIR [--jobs N] [--only TEXT] [--count N] [--sources-max N] [--seed S] [--list]: apply each one-line fault of
tests/mutants/cuda.txt to a copy of kernels/cuda, build test_cuda_strict with it and run it, the tests that the list names for the
file first. Print a table of faults that the tests killed and that lived; fail if one lived. Needs a Ninja build in which
test_cuda_strict is up to date. With --list, apply each fault and build nothing: fail if a line is gone."""

import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
KERNELS = SOURCE / "kernels/cuda"
TEST = "test_cuda_strict"
TEST_CPU_SECONDS_MAX = 600


@dataclass
class Mutant:
    file: str
    after: str
    old: str
    new: str
    first_tests: str  # a filter

    def __str__(self) -> str:
        where = f" after '{self.after}'" if self.after else ""
        return f"{self.file}{where}: '{self.old}' -> '{self.new}'"


def read_mutants(path: Path) -> list[Mutant]:
    mutants: list[Mutant] = []
    first_tests: dict[str, str] = {}
    for line in path.read_text().splitlines():
        if line.startswith("! "):
            files, _, tests = line[2:].partition(": ")
            first_tests |= {file: tests for file in files.split()}
        elif line.startswith("@ "):
            file, _, after = line[2:].partition(" after ")
            if file not in first_tests:
                sys.exit(f"{path}: no line '! {file}: TESTS'")
            mutants.append(Mutant(file, after, "", "", first_tests[file]))
        elif line.startswith("- "):
            mutants[-1].old = line[2:]
        elif line.startswith("+ "):
            mutants[-1].new = line[2:]
        elif line and not line.startswith("#"):
            sys.exit(f"{path}: cannot read '{line}'")
    return mutants


def mutated(text: str, mutant: Mutant) -> str:
    lines = text.splitlines()
    begin = 0
    if mutant.after:
        above = [i for i, line in enumerate(lines) if line.strip() == mutant.after]
        if len(above) != 1:
            sys.exit(f"{mutant}: {len(above)} lines are '{mutant.after}'")
        begin = above[0]
    found = [i for i in range(begin, len(lines)) if lines[i].strip() == mutant.old]
    if not found or (len(found) > 1 and not mutant.after):
        sys.exit(f"{mutant}: {len(found)} lines match")
    lines[found[0]] = mutant.new
    return "\n".join(lines) + "\n"


class Build:
    """What the build tree knows about compiling and linking the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.compile: dict[str, tuple[list[str], str]] = {}  # name of the source: command, object
        self.texts = {path.name: path.read_text() for path in KERNELS.iterdir()}
        ccache = shutil.which("ccache")
        self.launcher = [ccache] if ccache else []
        said = subprocess.run(["ninja", "-C", str(folder), "-t", "commands", TEST], check=True, capture_output=True, text=True)
        # ": && c++ .. -o bin/test_cuda_strict .. && :"
        link = next(line for line in reversed(said.stdout.splitlines()) if f"-o bin/{TEST}" in line)
        self.link = shlex.split(link.split("&&")[1])
        for entry in json.loads((folder / "compile_commands.json").read_text()):
            command, source = shlex.split(entry["command"]), Path(entry["file"])
            output = command[command.index("-o") + 1] if "-o" in command else ""
            if "-xc++" in command and output in self.link:  # kernels, and a test's own
                self.compile[source.name] = (command, output)
                self.texts[source.name] = source.read_text()

    def users(self, file: str) -> list[str]:
        """The sources that a change of `file` changes."""
        changed = {file}
        while True:
            more = {name for name, text in self.texts.items() if any(re.search(f'#include "{re.escape(c)}"', text) for c in changed)}
            if more <= changed:
                return sorted(changed & self.compile.keys())
            changed |= more

    def run(self, command: list[str]) -> None:
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"cannot build: {' '.join(command)}\n{done.stderr[-2000:]}")

    def test_of(self, mutant: Mutant, folder: Path) -> Path:
        """Builds the test with the mutant; its objects lie in `folder`, whose path is in them: ccache knows it again."""
        kernels = folder / "cuda"
        shutil.copytree(KERNELS, kernels)
        path = kernels / mutant.file
        path.write_text(mutated(path.read_text(), mutant))
        replaced: dict[str, str] = {}
        for name in self.users(mutant.file):
            command, output = self.compile[name]
            new = str(folder / f"{name}.o")
            swap = {f"-I{KERNELS}": f"-I{kernels}", str(KERNELS / name): str(kernels / name), output: new}
            self.run([*self.launcher, *(swap.get(word, word) for word in command), "-Wno-error"])  # of what a fault leaves unused
            replaced[output] = new
        test = folder / TEST
        swap = {**replaced, f"bin/{TEST}": str(test)}
        self.run([swap.get(word, word) for word in self.link])
        return test


def run_test(test: Path, build: Path, seed: int, tests: str) -> tuple[bool, str]:
    """Whether `tests` pass; if not, what failed first."""
    settings = {"SOURCE_DIR": SOURCE, "BINARY_DIR": build, "TEST_SCALE": 1, "TEST_SEED": seed}
    environment = {**os.environ, **{f"GYM_{name}": str(value) for name, value in settings.items()}}
    command = ["prlimit", f"--cpu={TEST_CPU_SECONDS_MAX}", test, "--gtest_fail_fast", "--gtest_brief=1", f"--gtest_filter={tests}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return False, f"no end after {TEST_CPU_SECONDS_MAX} s of CPU time"
    if done.returncode == 0:
        return True, ""
    finding = re.search(r"^finding: ([^,]*)", done.stderr, re.M)
    failed = re.search(r"^\[  FAILED  \] (\S+)", done.stdout, re.M)
    what = finding.group(1) if finding else "other bits"
    return False, f"{failed.group(1) if failed else f'exit {done.returncode}'}: {what}"


def judge(build: Build, mutant: Mutant, seed: int) -> tuple[bool, str, float]:
    begin = time.monotonic()
    folder = build.folder / "mutants" / hashlib.sha256(str(mutant).encode()).hexdigest()[:16]
    shutil.rmtree(folder, ignore_errors=True)
    try:
        test = build.test_of(mutant, folder)
        lived, why = run_test(test, build.folder, seed, mutant.first_tests)
        if lived:
            lived, why = run_test(test, build.folder, seed, "*")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return lived, why, time.monotonic() - begin


def print_table(build: Build, mutants: list[Mutant], jobs: int, seed: int, tests: str) -> int:
    """@return how many lived. `tests` are those that have to pass without a mutant."""
    lived = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        unchanged = pool.submit(run_test, build.folder / "bin" / TEST, build.folder, seed, tests)
        judged = pool.map(lambda m: judge(build, m, seed), mutants)
        for mutant, (alive, why, seconds) in zip(mutants, judged):
            lived += alive
            print(f"{'LIVED' if alive else 'killed'}  {seconds:4.0f} s  {mutant}{'' if alive else f'  by {why}'}", flush=True)
    passes, why = unchanged.result()
    if not passes:
        sys.exit(f"{TEST} fails without a mutant, too: {why}")
    return lived


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", action="append", help="run the mutants with this text alone; may be given again")
    parser.add_argument("--count", type=int, default=0, help="run so many of them, chosen by the seed")
    parser.add_argument("--sources-max", type=int, default=0, help="leave out those that make more than so many files compile anew")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("GYM_TEST_SEED") or random.randrange(1 << 32)),
                        help="seed of the tests (default: GYM_TEST_SEED, or a random one, which is printed)")
    parser.add_argument("--list", action="store_true", help="check that each mutant changes a line, and run none")
    arguments = parser.parse_args()
    every = read_mutants(SOURCE / "tests/mutants/cuda.txt")
    mutants = [mutant for mutant in every if any(text in str(mutant) for text in arguments.only or [""])]
    if arguments.list:
        for mutant in mutants:
            text = (KERNELS / mutant.file).read_text()
            if mutated(text, mutant) == text:
                sys.exit(f"{mutant}: changes nothing")
        print(f"{len(mutants)} mutants")
        return
    build = Build(arguments.build.resolve())
    if arguments.sources_max > 0:
        mutants = [mutant for mutant in mutants if len(build.users(mutant.file)) <= arguments.sources_max]
    if 0 < arguments.count < len(mutants):
        mutants = random.Random(arguments.seed).sample(mutants, arguments.count)
    tests = ":".join({mutant.first_tests for mutant in mutants}) if len(mutants) < len(every) else "*"
    print(f"{len(mutants)} of {len(every)} mutants, seed {arguments.seed}", flush=True)
    begin = time.monotonic()
    lived = print_table(build, mutants, arguments.jobs, arguments.seed, tests)
    print(f"{len(mutants) - lived} of {len(mutants)} mutants killed, {time.monotonic() - begin:.0f} s")
    sys.exit(1 if lived else 0)


if __name__ == "__main__":
    main()
