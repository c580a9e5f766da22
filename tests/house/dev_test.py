"""Runs ./dev among stand-ins for the tools that it calls."""

import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

DEV = Path(__file__).resolve().parents[2] / "dev"

# "Builds" what the presets would: a program, a benchmark, a fuzzer and their list.
CMAKE = """
echo "cmake $*" >>"$LOG"
case "$*" in
  *--preset*)
    [ "${FAIL:-}" != configure ] || exit 1
    for preset; do :; done
    mkdir -p "build/$preset/apps"
    echo '[{"file": "a.cc"}, {"file": "b.cc"}]' >build/$preset/compile_commands.json
    echo "${FUZZERS-one_fuzz}" >build/$preset/fuzzers.txt ;;
  --install*)
    [ "${FAIL:-}" != install ] || { echo "no room left"; exit 1; }
    printf '%s/bin/kvcast' "$4" >build/run/install_manifest.txt ;;
  --build*)
    [ "${FAIL:-}" != "$2" ] || exit 1
    for name in kvcast tinylm one_bench one_fuzz model_oracle kvcast_sim; do
      script='#!/bin/sh\\necho "%s $*" >>"$LOG"\\n[ "${FAIL:-}" != %s ]\\n'
      printf "$script" $name $name >"$2/apps/$name"
      chmod +x "$2/apps/$name"
    done ;;
esac
"""
CTEST = """
echo "ctest $*" >>"$LOG"
[ "${FAIL:-}" = "$2" ] && echo "what the test said" && exit 8
echo "5/7 Test #5: Disk.IsFast ...***Skipped   0.00 sec"
echo "100% tests passed, 0 tests failed out of 7"
printf '\\nThe following tests did not run:\\n'
printf '\\t  5 - Disk.IsFast (Skipped)\\n\\t 12 - Old (Disabled)\\n'
mkdir -p "$2/Testing/Temporary"
printf '[  SKIPPED ] Disk.IsFast (0 ms)\\n[  SKIPPED ] Disk.IsFast\\n[  SKIPPED ] Kernel.IsNew\\n' \\
  >"$2/Testing/Temporary/LastTest.log"
[ "$2" != build/asan ] ||  # As programs tell it that say little.
  printf '/a/b/heap_test.cc:55: Skipped\\nno heap here\\n[  SKIPPED ] 2 tests.\\n' \\
    >"$2/Testing/Temporary/LastTest.log"
"""

SEEDS = """
import pathlib, sys
folder = pathlib.Path(sys.argv[1]) / "one_fuzz"
folder.mkdir(parents=True, exist_ok=True)
"""


DIFFERENTIAL = """
import os, sys
with open(os.environ["LOG"], "a") as log:
    log.write(f"differential {' '.join(sys.argv[1:])}\\n")
sys.exit(os.environ.get("FAIL") == "peers")
"""


ALONE = """
import os, sys
with open(os.environ["LOG"], "a") as log:
    log.write(f"alone {' '.join(sys.argv[1:])}\\n")
sys.exit(os.environ.get("FAIL") == "alone")
"""


PLANTED = ALONE.replace("alone", "planted")


class Dev(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        shutil.copy(DEV, self.root / "dev")
        self.stand_in("tools/deps", 'echo "deps $*" >>"$LOG"')
        self.stand_in("examples/demo", 'echo "demo $*" >>"$LOG"')
        self.stand_in("path/cmake", CMAKE)
        self.stand_in("path/ctest", CTEST)
        self.stand_in("path/git", "exit 128")
        (self.root / "tests/contract").mkdir(parents=True)
        (self.root / "tests/contract/model_differential.py").write_text(DIFFERENTIAL)
        (self.root / "tests/fuzz_seeds.py").write_text(SEEDS)
        (self.root / "tests/planted_bugs.py").write_text(PLANTED)
        (self.root / "tests/house").mkdir()
        (self.root / "tests/house/alone.py").write_text(ALONE)
        self.log = self.root / "log"

    def stand_in(self, name: str, script: str) -> None:
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)

    def dev(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        self.log.write_text("")
        path = f"{self.root / 'path'}:/usr/sbin:/usr/bin:/sbin:/bin"
        return subprocess.run([self.root / "dev", *arguments], cwd="/", capture_output=True,
                              text=True, stdin=subprocess.DEVNULL,
                              env={"PATH": path, "LOG": str(self.log)} | environment)

    def did(self) -> str:
        return self.log.read_text()

    def test_alone_it_says_what_there_is(self):
        for arguments in [(), ("--help",)]:
            ran = self.dev(*arguments)
            self.assertEqual(ran.returncode, 0)
            for name in ["run", "build", "install", "test", "check", "bench", "fuzz", "format", "clean"]:
                self.assertIn(f"./dev {name} ", ran.stdout)
        self.assertEqual(self.dev("fly").returncode, 2)
        for words in [("test", "fast"), ("clean", "all"), ("fuzz", "1", "one_fuzz", "two")]:
            ran = self.dev(*words)
            self.assertEqual(ran.returncode, 2)
            self.assertIn(f'./dev {words[0]} does not take "{" ".join(words[1:])}"', ran.stderr)
        self.assertEqual(self.did(), "")

    def test_run_leaves_the_programs_and_starts_the_demo(self):
        self.assertEqual(self.dev("run").returncode, 0)
        self.assertTrue(self.did().startswith("deps run\ncmake --fresh --preset run\n"))
        self.assertTrue(self.did().endswith("demo \n"))
        for program in ["kvcast", "tinylm"]:
            self.assertTrue((self.root / "bin" / program).is_file())

    def test_sim_leaves_the_simulator_and_hands_it_its_words(self):
        ran = self.dev("sim", "road", "--seeds", "20")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("--target kvcast_sim_program", self.did())
        self.assertTrue(self.did().endswith("kvcast_sim road --seeds 20\n"))
        self.assertTrue((self.root / "bin/kvcast-sim").is_file())
        self.assertEqual(self.dev("sim", FAIL="kvcast_sim").returncode, 1)

    def test_install_says_what_it_put_where(self):
        for words, prefix in [((), "/usr/local"), (("--prefix", "/opt/k v"), "/opt/k v"), (("--prefix", "here"), "//here")]:
            with self.subTest(prefix):
                ran = self.dev("install", *words, DESTDIR="/stage")
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertIn("--target kvcast kvcast_shared", self.did())
                self.assertIn(f"cmake --install build/run --prefix {prefix}\n", self.did())
                self.assertIn(f"  /stage{prefix}/bin/kvcast\n", ran.stdout)
        ran = self.dev("install", FAIL="install", DESTDIR="/stage")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("no room left", ran.stdout)
        for words in [("--prefix",), ("/opt",), ("--to", "/opt"), ("--prefix", ""), ("--prefix", "/a", "/b")]:
            with self.subTest(words):
                self.assertEqual(self.dev("install", *words).returncode, 2)
                self.assertEqual(self.did(), "")

    def test_test_goes_through_every_build(self):
        ran = self.dev("test")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        for preset in ["release", "asan"]:
            self.assertIn(f"ctest --test-dir build/{preset} ", self.did())
        self.assertIn("one_fuzz -max_total_time=20 -runs=20000", self.did())
        self.assertRegex(ran.stdout, r"all tests passed in \d+ s\n$")

    def test_what_was_skipped_is_named(self):
        ran = self.dev("test")
        summary = "100% tests passed, 0 tests failed out of 7\n"
        self.assertIn(summary + "skipped: Disk.IsFast\nskipped: Kernel.IsNew\nskipped: Old\n==>", ran.stdout)
        self.assertIn(summary + "skipped: Disk.IsFast\nskipped: Old\nskipped: heap_test.cc:55: no heap here\n==>",
                      ran.stdout)

    def test_a_link_to_it_works_in_its_own_folder(self):
        elsewhere = self.root / "elsewhere"
        (elsewhere / "build").mkdir(parents=True)
        (self.root / "build").mkdir()
        (elsewhere / "dev").symlink_to(self.root / "dev")
        ran = subprocess.run([elsewhere / "dev", "clean"], cwd=elsewhere, capture_output=True, text=True)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertTrue((elsewhere / "build").is_dir())
        self.assertFalse((self.root / "build").exists())

    def test_a_copy_of_it_elsewhere_removes_nothing(self):
        elsewhere = self.root / "elsewhere"
        (elsewhere / "build").mkdir(parents=True)
        shutil.copy(DEV, elsewhere / "dev")
        ran = subprocess.run([elsewhere / "dev", "clean"], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 1)
        self.assertTrue((elsewhere / "build").is_dir())

    def test_cores_are_a_number(self):
        for jobs in "abc", "0", "-1", "2.5", "1 2":
            ran = self.dev("build", KVCAST_JOBS=jobs)
            self.assertEqual(ran.returncode, 2, jobs)
            self.assertIn(f'KVCAST_JOBS is a number of cores, from 1 on, not "{jobs}"', ran.stderr)
        self.assertEqual(self.dev("build", KVCAST_JOBS="12").returncode, 0)
        self.assertEqual(self.dev("build", KVCAST_JOBS="").returncode, 0)

    def test_a_fuzzer_is_one_that_there_is(self):
        ran = self.dev("fuzz", "7", "no_fuzz")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("These there are:\none_fuzz", ran.stderr)
        self.assertEqual(self.dev("fuzz", "").returncode, 2)

    def test_a_fuzzer_starts_from_the_vectors_and_the_inputs_we_keep(self):
        self.dev("fuzz", "7")
        self.assertNotIn("tests/corpus", self.did())
        (self.root / "tests/corpus/one_fuzz").mkdir(parents=True)
        self.dev("fuzz", "7", "one_fuzz")
        self.assertRegex(self.did(), r"one_fuzz -max_total_time=7 .*corpus build/fuzz/seeds/one_fuzz tests/corpus/one_fuzz\n")

    def test_a_fuzzer_may_want_longer_inputs(self):
        self.dev("fuzz", "7", "one_fuzz")
        self.assertIn("-max_len=4096 -entropic=0", self.did())
        (self.root / "kvcast").mkdir()
        (self.root / "kvcast/one_fuzz.cc").write_text(
            "// Any name.\n// Inputs of up to 16384 bytes: names of 4,096 bytes take four times as many.\n")
        self.dev("fuzz", "7", "one_fuzz")
        self.assertIn("-max_len=16384 -len_control=0 -entropic=0", self.did())

    def test_what_a_fuzzer_has_found_stays(self):
        found = self.root / "build/fuzz/scratch/one_fuzz/found/crash-1"
        found.parent.mkdir(parents=True)
        found.write_text("")
        self.assertEqual(self.dev("fuzz", "7").returncode, 0)
        self.assertTrue(found.is_file())

    def test_fuzzers_that_would_start_from_nothing_are_not_run(self):
        (self.root / "tests/fuzz_seeds.py").write_text("raise SystemExit(1)")
        for words in [("test",), ("check", "fuzz"), ("fuzz", "7")]:
            with self.subTest(words):
                ran = self.dev(*words)
                self.assertEqual(ran.returncode, 1)
                self.assertRegex(ran.stderr, "FAILED after .*: fuzz: seeds[.]\nTo repeat just that:  tests/fuzz_seeds.py")
                self.assertNotIn("one_fuzz -", self.did())

    def test_no_benchmarks_are_a_failure(self):
        self.stand_in("path/cmake", CMAKE.replace("one_bench", "no_meter"))
        ran = self.dev("bench")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("the preset bench has built no benchmark", ran.stderr)

    def test_no_fuzzers_is_a_failure(self):
        ran = self.dev("test", FUZZERS="")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("the preset asan has built no fuzzer", ran.stderr)

    def test_it_stops_at_the_first_failure_and_says_how_to_repeat_it(self):
        for fail, again in {
                "configure": "cmake --preset release",
                "build/asan": "cmake --build build/asan",
                "build/release": "cmake --build build/release",
                "one_fuzz": "./dev fuzz 20 FUZZER"}.items():
            with self.subTest(fail):
                ran = self.dev("test", FAIL=fail)
                self.assertEqual(ran.returncode, 1)
                self.assertRegex(ran.stderr, "FAILED after .*\nTo repeat just that:  .*" + again)
                self.assertNotIn("all tests passed", ran.stdout)

    def test_a_failed_test_is_shown(self):
        self.stand_in("path/cmake", CMAKE.replace('"${FAIL:-}"', '""'))
        ran = self.dev("test", FAIL="build/release")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("what the test said", ran.stdout)
        self.assertIn("ctest --test-dir build/release --rerun-failed", ran.stderr)
        self.assertNotIn("build/asan", self.did())

    def test_check_looks_at_layout_threads_and_lint_as_well(self):
        self.stand_in("path/clang-format", '[ "${FAIL:-}" != format ]')
        self.stand_in("path/clang-tidy", 'echo "a.h:1:2: error: odd"; [ "${FAIL:-}" != tidy ]')
        (self.root / "a.cc").write_text("")
        ran = self.dev("check")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("ctest --test-dir build/tsan ", self.did())
        self.assertIn("one_fuzz -max_total_time=60 ", self.did())
        self.assertIn("differential --oracle build/release/apps/model_oracle --configs 100000\n",
                      self.did())
        ran = self.dev("check", FAIL="peers")
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(ran.stderr, "To repeat just that:  .*model_differential.py .*--seed SEED")
        ran = self.dev("check", FAIL="alone")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("alone --source . --build build/alone\n", self.did())
        self.assertRegex(ran.stderr, "To repeat just that:  .*alone.py")
        ran = self.dev("check", FAIL="planted")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("planted build/planted/apps/kvcast_sim\n", self.did())
        ran = self.dev("check", FAIL="tidy")
        self.assertEqual(ran.returncode, 1)
        self.assertEqual(ran.stdout.count("a.h:1:2: error: odd"), 1)

    def test_check_goes_on_after_what_fails_and_names_it_at_its_end(self):
        self.stand_in("path/clang-format", "false")
        self.stand_in("path/clang-tidy", "true")
        (self.root / "a.cc").write_text("")
        ran = self.dev("check", FAIL="build/tsan")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("alone --source", self.did())
        self.assertIn("one_fuzz -max_total_time=60 ", self.did())
        self.assertRegex(ran.stderr, r"FAILED after \d+ s: format, tsan\. ")
        self.assertNotIn("all checks passed", ran.stdout)

    def test_check_runs_only_the_parts_that_it_is_asked_for(self):
        ran = self.dev("check", "peers", "fuzz")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("differential --oracle build/release/apps/model_oracle ", self.did())
        self.assertIn("one_fuzz -max_total_time=60 ", self.did())
        self.assertNotIn("ctest", self.did())
        self.assertRegex(ran.stdout, r"passed in \d+ s: peers fuzz")
        self.assertNotIn("all checks", ran.stdout)
        ran = self.dev("check", "tsan", "peers", FAIL="peers")
        self.assertEqual(ran.returncode, 1)
        self.assertRegex(ran.stderr, r"FAILED after \d+ s: peers\. ")

    def test_check_names_its_parts_where_it_has_none_of_that_name(self):
        ran = self.dev("check", "-v")
        self.assertEqual(ran.returncode, 2)
        self.assertIn('has no part "-v". It has: format release asan peers planted tsan', ran.stderr)
        self.assertEqual(self.did(), "")

    def test_bench_runs_every_benchmark(self):
        self.assertEqual(self.dev("bench").returncode, 0)
        self.assertIn("one_bench", self.did())
        self.assertEqual(self.dev("bench", FAIL="one_bench").returncode, 1)

    def test_format_installs_what_it_needs_first(self):
        self.stand_in("path/clang-format", 'echo "clang-format $*" >>"$LOG"')
        (self.root / "a.cc").write_text("")
        self.assertEqual(self.dev("format").returncode, 0)
        self.assertEqual(self.did(), "deps test\nclang-format -i ./a.cc\n")

    def test_it_stays_at_home_whatever_cdpath_says(self):
        elsewhere = self.root / "elsewhere" / self.root.name
        (elsewhere / "build").mkdir(parents=True)
        ran = subprocess.run([f"{self.root.name}/dev", "clean"], cwd=self.root.parent,
                             env={"PATH": "/usr/bin:/bin", "CDPATH": str(self.root / "elsewhere")})
        self.assertEqual(ran.returncode, 0)
        self.assertTrue((elsewhere / "build").is_dir())

    def test_clean_removes_what_was_built(self):
        self.dev("build")
        self.assertEqual(self.dev("clean").returncode, 0)
        self.assertFalse((self.root / "build").exists() or (self.root / "bin").exists())


if __name__ == "__main__":
    unittest.main()
