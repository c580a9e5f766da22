"""Compiles what the purity check is there to find."""

import os
import platform
import subprocess
import unittest

from planted import Planted
from purity import asks_for, check

IMPURE = [
    ("the clock", "#include <chrono>\nauto f() { return std::chrono::steady_clock::now(); }"),
    ("to sleep", "#include <unistd.h>\nvoid f() { usleep(1); }"),
    ("a socket", "#include <sys/socket.h>\nint f() { return socket(0, 0, 0); }"),
    ("a thread", "#include <thread>\nvoid f() { std::thread([] {}).join(); }"),
    ("a file", '#include <fstream>\nvoid f() { std::ofstream("x") << 1; }'),
    ("a person", "#include <cstdio>\nint f() { return std::getc(stdin); }"),
    ("a person", '#include <cstdio>\nvoid f() { std::printf("%d", 1); }'),
    ("a person", '#include <iostream>\nvoid f() { std::cout << 1; }'),
    ("the clock", "#include <ctime>\nauto f(std::tm t) { return std::mktime(&t); }"),
    ("a socket", "#include <ifaddrs.h>\nint f(ifaddrs** all) { return getifaddrs(all); }"),
    ("the process", "#include <cstdlib>\nvoid f() { std::exit(1); }"),
    ("the environment", '#include <locale>\nauto f() { return std::locale(""); }'),
    ("more of GnuTLS than digests",
     "#include <gnutls/crypto.h>\nint f(void* to) { return gnutls_rnd(GNUTLS_RND_KEY, to, 9); }"),
    ("the environment", '#include <cstdlib>\nauto f() { return std::getenv("HOME"); }'),
    ("entropy", "#include <random>\nauto f() { return std::random_device()(); }"),
]
# What has no symbol, by processor.
INSTRUCTED = {"x86_64": [
    ("the clock", "#include <x86intrin.h>\nauto f() { return __rdtsc(); }"),
    ("the clock", "#include <x86intrin.h>\nauto f(unsigned* at) { return __rdtscp(at); }"),
    ("the processor", "#include <cpuid.h>\nbool f(unsigned* a) { return __get_cpuid(1, a, a + 1, a + 2, a + 3); }"),
    ("the processor", 'void f(int* a, int* d) { asm("xgetbv" : "=a"(*a), "=d"(*d) : "c"(0)); }'),
    ("the processor", 'bool f() { return __builtin_cpu_supports("avx2"); }'),
    ("entropy", 'bool f(long* to) { bool ok; asm("rdrand %0; setc %1" : "=r"(*to), "=qm"(ok)); return ok; }'),
    ("a file", 'long f(long of) { asm volatile("syscall" : "+a"(of) :: "rcx", "r11", "memory"); return of; }'),
]}
STATE = {
    "counter": "int counter = 0;",
    "hidden": "static int hidden = 3;\nint f() { return ++hidden; }",
    "mine": "thread_local int mine;",
    "shared": "inline int shared = 4;\nint f() { return ++shared; }",
    "f()::calls": "int f() { static int calls = 0; return ++calls; }",
    "guard variable for f()::made": "#include <map>\nauto& f() {"
                                    " static const std::map<int, int> made{{1, 2}}; return made; }",
    "kLate": "#include <string>\nextern const std::string kLate;\nconst std::string kLate(9, 'x');",
}
PURE = """
#include <gnutls/crypto.h>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
std::shared_ptr<int> f(std::chrono::seconds s) { return std::make_shared<int>(s.count()); }
std::string g(std::map<int, std::string>& m) { return m[1] + "x"; }
void h(std::atomic<int>& n) { if (++n > 3) { std::fputs("no", stderr); std::abort(); } }
struct reader { virtual ~reader() {} virtual int read(); };
int i(reader& r) { return r.reader::read(); }
reader* j() { return new reader; }
constexpr std::string_view kNames[] = {"a", "b"};
const char* kept(int n) { static constexpr const char* kOthers[] = {"c"}; return kOthers[n]; }
std::string_view k(int n) { return kNames[n]; }
inline constexpr int kShared = 4;
const int* l() { return &kShared; }
"""


class Purity(Planted):
    def archive(self, code: str) -> str:
        source = self.plant("a.cc", code)
        made = self.build / "a.o"
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-c", source, "-o", made],
                       check=True)
        (self.build / "liba.a").unlink(missing_ok=True)
        subprocess.run(["ar", "rc", self.build / "liba.a", made], check=True)
        return str(self.build / "liba.a")

    def test_values_memory_and_gnutls_are_pure(self):
        self.declare({"name": "base", "archive": self.archive(PURE)})
        self.assertEqual(check(self.source, self.build), [])

    def test_each_part_of_the_machine_is_found(self):
        for what, code in IMPURE + INSTRUCTED.get(platform.machine(), []):
            with self.subTest(what):
                self.declare({"name": "base", "archive": self.archive(code)})
                complaints = check(self.source, self.build)
                self.assertTrue(any(f"asks for {what}" in c for c in complaints), complaints)

    @unittest.skipUnless(platform.machine() == "x86_64", "made of this processor's instructions")
    def test_only_the_codec_may_ask_which_processor_it_runs_on_and_for_nothing_else(self):
        asking = INSTRUCTED["x86_64"]
        for name, complaints in {"codec": 0, "kv": 1}.items():
            code = next(code for what, code in asking if what == "the processor" and "cpuid.h" in code)
            self.declare({"name": name, "archive": self.archive(code)})
            self.assertEqual(len(check(self.source, self.build)), complaints)
        for code in (code for _, code in asking if "xgetbv" in code or "rdtsc()" in code):
            self.declare({"name": "codec", "archive": self.archive(code)})
            self.assert_one(check(self.source, self.build), "codec: is pure and asks for")

    def test_each_kind_of_state_is_found(self):
        for name, code in STATE.items():
            with self.subTest(name):
                self.declare({"name": "base", "archive": self.archive(code)})
                complaints = check(self.source, self.build)
                self.assertTrue(any(c.startswith(f"base: is pure and keeps state: {name}")
                                    for c in complaints), complaints)

    def test_a_module_that_is_not_pure_may(self):
        self.declare({"name": "io", "pure": False, "archive": self.archive(dict(IMPURE)["a socket"])})
        self.assertEqual(check(self.source, self.build), [])

    def test_a_library_that_is_not_there_is_not_pure(self):
        self.declare({"name": "base", "archive": str(self.build / "gone.a")})
        self.assert_one(check(self.source, self.build), "has not been built")

    def test_names_that_only_look_alike(self):
        for symbol in ["memmove", "kvcast::Clock::time()", "gnutls_hash", "timeline", "fwrite",
                       "kvcast::store::read(int)", "operator new(unsigned long)", "__asan_init",
                       "std::remove<int*>(int*, int*, int)", "kvcast::Slice::access()", "fputs",
                       "stderr", "abort", "localeconv", "signals", "__signbit", "closest",
                       "strtod"]:
            self.assertIsNone(asks_for(symbol), symbol)
        for symbol in ["time", "open64", "__open64_2", "getenv@GLIBC_2.2.5", "__poll_chk",
                       "std::mutex::lock()", "gnutls_rnd", "access", "remove", "readlink",
                       "realpath", "scandir64", "truncate", "ftruncate64", "chdir", "getcwd",
                       "isatty", "getc", "stdin", "std::cin", "setlocale", "lstat64", "close",
                       "__realpath_chk", "__isoc99_fscanf", "getpwuid", "sigaction", "exit",
                       "mkstemp64", "mkdtemp"]:
            self.assertIsNotNone(asks_for(symbol), symbol)


if __name__ == "__main__":
    unittest.main()
