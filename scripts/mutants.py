#!/usr/bin/env python3
"""mutants.py BUILD_DIR [--jobs N] [--only TEXT] [--count N] [--sources-max N] [--seed S] [--list]: apply each one-line fault of
tests/mutants/cuda.txt to a copy of kernels/cuda, build test_cuda_strict with it and run it, the tests that the list names for the
file first. Faults of host code that only nvcc's objects have are built into test_cuda_runtime, and left out without nvcc. Print a
table of faults that the tests killed and that lived; fail if one lived. Needs a Ninja build in which both tests are up to date.
With --list, apply each fault and build nothing: fail if a line is gone."""

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
TEST = "test_cuda_strict"  # where the list names no other
TEST_CPU_SECONDS_MAX = 600


@dataclass
class Mutant:
    file: str
    after: str
    old: str
    new: str
    test: str  # the program
    first_tests: str  # a filter

    def __str__(self) -> str:
        where = f" after '{self.after}'" if self.after else ""
        return f"{self.file}{where}: '{self.old}' -> '{self.new}'"


def read_mutants(path: Path) -> list[Mutant]:
    mutants: list[Mutant] = []
    tests_of: dict[str, tuple[str, str]] = {}
    for line in path.read_text().splitlines():
        if line.startswith("! "):
            where, _, first_tests = line[2:].partition(": ")
            files, _, test = where.partition(" in ")
            tests_of |= {file: (test or TEST, first_tests) for file in files.split()}
        elif line.startswith("@ "):
            file, _, after = line[2:].partition(" after ")
            if file not in tests_of:
                sys.exit(f"{path}: no line '! {file}: TESTS'")
            mutants.append(Mutant(file, after, "", "", *tests_of[file]))
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
    """What the build tree knows about compiling and linking a test."""

    def __init__(self, folder: Path, test: str) -> None:
        self.folder = folder
        self.test = test
        self.texts = {path.name: path.read_text() for path in KERNELS.iterdir()}
        ccache = shutil.which("ccache")
        self.launcher = [ccache] if ccache else []
        said = subprocess.run(["ninja", "-C", str(folder), "-t", "commands", test], check=True, capture_output=True, text=True)
        # ": && c++ .. -o bin/test_cuda_strict .. && :"
        link = next(line for line in reversed(said.stdout.splitlines()) if f"-o bin/{test}" in line)
        self.link = shlex.split(link.split("&&")[1])
        as_cxx, by_nvcc = self.read_commands()
        self.compile = as_cxx or by_nvcc

    def read_commands(self) -> tuple[dict[str, tuple[list[str], str]], dict[str, tuple[list[str], str]]]:
        """@return command and object by the name of the source: of kernels (and a test's own) that are linked as C++, and of
        those in an archive."""
        archives = [Path(word) for word in self.link if word.endswith(".a")]
        archived = {archive.parent / "CMakeFiles" / f"{archive.stem.removeprefix('lib')}.dir" for archive in archives}
        as_cxx, by_nvcc = {}, {}
        for entry in json.loads((self.folder / "compile_commands.json").read_text()):
            command, source = shlex.split(entry["command"]), Path(entry["file"])
            output = command[command.index("-o") + 1] if "-o" in command else ""
            if "-xc++" in command and output in self.link:
                as_cxx[source.name] = (command, output)
                self.texts[source.name] = source.read_text()
            elif source.parent == KERNELS and Path(output).parent in archived:
                by_nvcc[source.name] = (command, output)
        return as_cxx, by_nvcc

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
        added: list[str] = []
        for name in self.users(mutant.file):
            command, output = self.compile[name]
            new = str(folder / f"{name}.o")
            swap = {f"-I{KERNELS}": f"-I{kernels}", str(KERNELS / name): str(kernels / name), output: new}
            if output in self.link:
                replaced[output] = new
                tolerant = [*command, "-Wno-error"]  # of what a fault leaves unused
            else:
                added.append(new)  # what it defines is not taken from the archive
                tolerant = [word for word in command if word != "-Werror=all-warnings"]
            self.run([*self.launcher, *(swap.get(word, word) for word in tolerant)])
        test = folder / self.test
        swap = {**replaced, f"bin/{self.test}": str(test)}
        self.run([self.link[0], *added, *(swap.get(word, word) for word in self.link[1:])])
        return test


def run_test(test: Path, build: Path, seed: int, tests: str) -> tuple[bool, str]:
    """Whether `tests` pass; if not, what failed first."""
    settings = {"SOURCE_DIR": SOURCE, "BINARY_DIR": build, "TEST_SCALE": 1, "TEST_SEED": seed}
    if test.name != TEST:
        settings["CUDA_PTX"] = build / "tests/unit/cuda/ptx"
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


def is_built(folder: Path, test: str) -> bool:
    """Whether the build has this test."""
    return test == TEST or subprocess.run(["ninja", "-C", str(folder), "-t", "query", test], capture_output=True).returncode == 0


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


def print_table(builds: dict[str, Build], mutants: list[Mutant], jobs: int, seed: int, everything: bool) -> int:
    """@return how many lived. @param everything all tests have to pass without a mutant, not only those that run first."""
    lived = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        unchanged = {}
        for test in {mutant.test for mutant in mutants}:
            tests = "*" if everything else ":".join({m.first_tests for m in mutants if m.test == test})
            folder = builds[test].folder
            unchanged[test] = pool.submit(run_test, folder / "bin" / test, folder, seed, tests)
        judged = pool.map(lambda m: judge(builds[m.test], m, seed), mutants)
        for mutant, (alive, why, seconds) in zip(mutants, judged):
            lived += alive
            print(f"{'LIVED' if alive else 'killed'}  {seconds:4.0f} s  {mutant}{'' if alive else f'  by {why}'}", flush=True)
    for test, run in unchanged.items():
        passes, why = run.result()
        if not passes:
            sys.exit(f"{test} fails without a mutant, too: {why}")
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
    folder = arguments.build.resolve()
    builds = {test: Build(folder, test) for test in {mutant.test for mutant in mutants} if is_built(folder, test)}
    left_out = [mutant for mutant in mutants if mutant.test not in builds]
    if left_out:
        print(f"left out, since there is no nvcc: {len(left_out)}")
    mutants = [mutant for mutant in mutants if mutant.test in builds]
    if arguments.sources_max > 0:
        mutants = [mutant for mutant in mutants if len(builds[mutant.test].users(mutant.file)) <= arguments.sources_max]
    if 0 < arguments.count < len(mutants):
        mutants = random.Random(arguments.seed).sample(mutants, arguments.count)
    print(f"{len(mutants)} of {len(every)} mutants, seed {arguments.seed}", flush=True)
    begin = time.monotonic()
    lived = print_table(builds, mutants, arguments.jobs, arguments.seed, len(mutants) + len(left_out) == len(every))
    print(f"{len(mutants) - lived} of {len(mutants)} mutants killed, {time.monotonic() - begin:.0f} s")
    sys.exit(1 if lived else 0)


if __name__ == "__main__":
    main()
