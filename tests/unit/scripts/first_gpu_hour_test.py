"""scripts/first-gpu-hour.sh, with stand-ins for nvidia-smi, the tests, compute-sanitizer and the benchmark."""

import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(os.environ["GYM_SOURCE_DIR"]) / "scripts" / "first-gpu-hour.sh"
CARD = "0, GPU-aa, 8.9, NVIDIA GeForce RTX 4090"
TESTS = "DeviceOps.\\n  Adds\\n  Multiplies\\n"
PASSED = """[==========] Running 2 tests from 1 test suite.
[ RUN      ] DeviceOps.Adds
[       OK ] DeviceOps.Adds (1 ms)
[  PASSED  ] 2 tests.
"""
FAILED = """[==========] Running 2 tests from 1 test suite.
[ RUN      ] DeviceOps.Adds
/src/device_ops_test.cpp:12: Failure
Expected equality of these values:
  sum
    Which is: 7
  expected
    Which is: 8
[  FAILED  ] DeviceOps.Adds (3 ms)
[  FAILED  ] 1 test, listed below:
[  FAILED  ] DeviceOps.Adds
"""
SKIPPED = """[==========] Running 2 tests from 1 test suite.
[ RUN      ] DeviceOps.Adds
/src/device_ops_test.cpp:74: Skipped
the driver is too old
[  SKIPPED ] DeviceOps.Adds (0 ms)
[ RUN      ] DeviceOps.Multiplies
/src/device_ops_test.cpp:74: Skipped
the driver is too old
[  SKIPPED ] DeviceOps.Multiplies (0 ms)
[  PASSED  ] 0 tests.
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] DeviceOps.Adds
[  SKIPPED ] DeviceOps.Multiplies
"""
ROW = '[{"name": "product", "ours": 2, "peer": null, "ratio": null, "unit": "TFLOP/s", "peer_name": "cuBLAS"}]'


def prints(text, status=0):
    return f"cat <<'TEXT'\n{text}TEXT\nexit {status}\n"


class FirstGpuHour(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.place = pathlib.Path(self.folder.name)
        self.bin = self.place / "build" / "release" / "bin"
        self.cards(CARD)
        self.device_tests(PASSED)
        self.program(self.bin / "test_engine_golden", prints(PASSED))
        self.program(self.bin / "bench_cuda", f"printf '%s' '{ROW}' >\"$2\"\n")
        self.program(self.place / "tools" / "nvcc", "echo release 12.8\n")
        # compute-sanitizer --tool NAME --error-exitcode 1 PROGRAM
        self.program(self.place / "tools" / "compute-sanitizer", '"$5"\n')

    def program(self, path, body):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/bash\n" + body)
        path.chmod(0o755)

    def cards(self, *lines):
        listing = "\n".join(lines)
        self.program(
            self.place / "tools" / "nvidia-smi",
            f"case $1 in *uuid*) printf '%s\\n' '{listing}' ;; *) echo 'name, driver_version' ;; esac\n",
        )

    def device_tests(self, text, status=0, first=PASSED):
        self.program(
            self.bin / "test_cuda_device",
            f"case ${{1:-}} in --gtest_list_tests) printf '{TESTS}'; exit ;;"
            f" --gtest_filter=*)\n{prints(first)};; esac\n"
            f"echo \"on $CUDA_VISIBLE_DEVICES, $CUDA_DEVICE_ORDER\"\n{prints(text, status)}",
        )

    def run_script(self, *arguments):
        environment = dict(os.environ, PATH=f"{self.place / 'tools'}:/usr/bin:/bin", CUDA_HOME=str(self.place / "none"))
        ended = subprocess.run(
            [SCRIPT, *arguments], capture_output=True, text=True, cwd=self.place, env=environment, check=False
        )
        return ended.returncode, ended.stdout + ended.stderr

    def hour(self):
        code, said = self.run_script("build/release", "out")
        page = self.place / "out" / "results.md"
        return code, page.read_text() if page.exists() else said

    def test_a_page_of_what_passed(self):
        code, page = self.hour()
        self.assertEqual(code, 0, page)
        for stage in ("cuda_device-0", "golden", "memcheck", "racecheck", "initcheck", "synccheck", "bench_cuda"):
            self.assertIn(f"| {stage} | passed |", page)
        self.assertIn("| product | 2 |  |  | TFLOP/s | cuBLAS |", page)
        self.assertIn("NVIDIA GeForce RTX 4090 (device 0 of nvidia-smi)", page)
        self.assertIn("release 12.8", page)

    def test_failed_tests_are_listed_once_with_what_they_found(self):
        self.device_tests(FAILED, 1)
        code, page = self.hour()
        self.assertEqual(code, 1)
        self.assertIn("| cuda_device-0 | **failed** |", page)
        part = page[page.index("### cuda_device-0") : page.index("### memcheck")]
        self.assertEqual(part.count("[  FAILED  ] DeviceOps.Adds"), 1, part)
        self.assertNotIn("listed below", part)
        self.assertIn("/src/device_ops_test.cpp:12: Failure", part)
        self.assertIn("Which is: 7", part)

    def test_a_test_that_ends_the_program_is_named(self):
        self.device_tests("[ RUN      ] DeviceOps.Multiplies\n", 139)
        code, page = self.hour()
        self.assertEqual(code, 1)
        self.assertIn("it ended in DeviceOps.Multiplies", page)

    def test_what_hangs_is_stopped(self):
        self.program(self.bin / "test_engine_golden", "sleep 60\n")
        os.environ["STAGE_MINUTES"] = "0.02"
        self.addCleanup(os.environ.pop, "STAGE_MINUTES")
        code, page = self.hour()
        self.assertEqual(code, 1)
        self.assertIn("| golden | **stopped after 0.02 minutes** |", page)

    def test_a_skipped_benchmark_has_not_passed(self):
        self.program(self.bin / "bench_cuda", "echo 'bench_cuda: SKIPPED, nothing is measured: no CUDA device'\n")
        code, page = self.hour()
        self.assertEqual(code, 1)
        self.assertIn("| bench_cuda | **skipped** |", page)
        self.assertIn("nothing is measured: no CUDA device", page)

    def test_a_failure_among_skipped_tests_is_a_failure(self):
        self.program(self.bin / "test_engine_golden", prints(SKIPPED + FAILED, 1))
        self.assertIn("| golden | **failed** |", self.hour()[1])

    def test_the_reason_to_skip_is_said_once(self):
        self.program(self.bin / "test_engine_golden", prints(SKIPPED))
        code, page = self.hour()
        self.assertEqual(code, 1)
        self.assertIn("| golden | **skipped** |", page)
        self.assertEqual(page.count("the driver is too old"), 1)
        self.assertIn("2 tests were skipped", page)

    def test_a_filter_that_fits_no_test_has_not_passed(self):
        self.program(self.bin / "test_engine_golden", prints("[==========] Running 0 tests from 0 test suites.\n"))
        self.assertEqual(self.hour()[0], 1)

    def test_without_a_device_there_is_no_page(self):
        self.device_tests(SKIPPED, first=SKIPPED)
        code, said = self.hour()
        self.assertEqual(code, 2)
        self.assertIn("CUDA cannot use NVIDIA GeForce RTX 4090", said)
        self.assertIn("the driver is too old", said)

    def test_each_card_by_its_uuid_and_old_ones_left_out(self):
        self.cards("0, GPU-old, 6.1, NVIDIA GeForce GT 1030", "1, GPU-aa, 8.6, A", "2, GPU-bb, 9.0, B")
        code, page = self.hour()
        self.assertEqual(code, 0, page)
        self.assertIn("| cuda_device-0 | left out: compute capability 6.1, 8.0 is needed |", page)
        for stage, uuid in (("cuda_device-1", "GPU-aa"), ("cuda_device-2", "GPU-bb"), ("memcheck", "GPU-aa")):
            self.assertIn(f"on {uuid}, PCI_BUS_ID", (self.place / "out" / f"{stage}.log").read_text())

    def test_what_is_not_there_is_said_and_counts(self):
        (self.place / "tools" / "compute-sanitizer").unlink()
        (self.bin / "bench_cuda").unlink()
        (self.place / "build" / "configure.log").write_text("-- cuBLAS not found: bench_cuda is not built\n")
        code, page = self.hour()
        self.assertEqual(code, 1)
        self.assertIn("| golden | passed |", page)
        self.assertIn("| memcheck | **not run**: compute-sanitizer is neither in PATH nor in", page)
        self.assertIn("| bench_cuda | **not run**: it needs cuBLAS", page)

    def test_a_build_without_cuda_is_named(self):
        (self.bin / "test_cuda_device").unlink()
        (self.place / "build" / "configure.log").write_text("-- CUDA kernels: off, nvcc not found\n")
        code, said = self.hour()
        self.assertEqual(code, 2)
        self.assertIn("is built without CUDA: nvcc not found", said)

    def test_help_and_wrong_use(self):
        for flag in ("-h", "--help"):
            code, said = self.run_script(flag)
            self.assertEqual(code, 0)
            self.assertTrue(said.startswith("first-gpu-hour.sh BUILD_DIR [FOLDER]: "), said)
        code, said = self.run_script()
        self.assertEqual(code, 2)
        self.assertIn("first-gpu-hour.sh BUILD_DIR [FOLDER]: ", said)
        self.assertEqual(self.run_script("nowhere")[0], 2)


if __name__ == "__main__":
    unittest.main()
