"""Runs tools/deps on machines made of stand-ins: no root, no network, nothing installed."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

DEPS = Path(__file__).resolve().parents[2] / "tools" / "deps"

# Says that everything asked for is installed, at 99 unless HAVE says otherwise. Asked for all, names what was there, and what
# has been installed since: with a peer there comes another package.
DPKG_QUERY = """
[ $# != 3 ] || { echo ssh-server; [ ! -e "$MACHINE/asked" ] || printf 'redis-server\\nwatchdog\\n'; exit; }
shift 3
for package; do
  version=99
  for have in $HAVE; do
    case $have in "$package="*) version=${have#*=} ;; esac
  done
  [ "$version" = none ] || echo "installed $package $version"
done
exit 1
"""
# Knows one Debian source, $ENTRY; writes down what it is asked to install, and whether services
# could have started meanwhile.
APT_GET = """
case " $* " in
  *" indextargets "*) for entry in $ENTRY; do echo "bookworm $entry"; done ;;
  *" install "*)
    echo "$*" >"$MACHINE/asked"
    cp "$MACHINE/usr/sbin/policy-rc.d" "$MACHINE/guard" 2>/dev/null
    exit "${APT_STATUS:-0}" ;;
esac
"""
# Has the new QUIC in backports, once these are configured.
APT_CACHE = """
[ "$LC_ALL" = C ] || { echo "  Installationskandidat: 1.11.0"; exit; }
[ "$1" != policy ] || echo "  Candidate: ${CANDIDATE:-0.12.1}"
[ "$1" != madison ] || [ "${BARREN:-}" ] || ! grep -rqs "${MIRROR:-}.* bookworm-backports\\|Suites: bookworm-backports" "$MACHINE/etc/apt" ||
  echo "$2 | 1.11.0-1~bpo12+1 | somewhere bookworm-backports/main amd64 Packages"
[ "$1" != madison ] || [ -z "${ELSEWHERE:-}" ] || echo "$2 | 1.22.1-1 | somewhere trixie/main amd64 Packages"
"""
# What a package brings: services, by whichever name, and a file that is none.
DPKG = """
[ "$1" = -L ] || exec /usr/bin/dpkg "$@"
shift
for package; do
  printf '/etc/init.d/%s\\n/lib/systemd/system/%s.service\\n/lib/systemd/system/%s.target\\n' $package $package $package
  printf '/lib/systemd/system/%s@.service\\n/usr/bin/%s\\n' $package $package
done
"""
TOOLS = "sh awk sed cut cat grep head tee cp rm chmod sort env".split()
PROBED = "c++ cmake ninja nm clang++ clang-tidy clang-format python3 pkg-config".split()

DEB822 = """# Comment

Types: deb
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Types: deb deb-src
# Inner comment
URIs: http://mirror.example/debian
Suites: bookworm
  bookworm-updates
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 abc
"""


class Machine(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.machine = Path(scratch.name)
        for folder in ["bin", "etc/apt/sources.list.d", "usr/sbin"]:
            (self.machine / folder).mkdir(parents=True)
        for tool in TOOLS:
            if path := shutil.which(tool):
                (self.machine / "bin" / tool).symlink_to(path)
        for tool in PROBED:
            self.stand_in(tool, "")
        self.stand_in("cmake", "echo cmake version 3.25.1")
        for tool, script in {"dpkg": DPKG, "dpkg-query": DPKG_QUERY, "apt-get": APT_GET, "apt-cache": APT_CACHE,
                             "id": "echo 0"}.items():
            self.stand_in(tool, script)
        self.is_debian(12)
        self.policy = self.machine / "usr/sbin/policy-rc.d"

    def stand_in(self, name: str, script: str) -> None:
        path = self.machine / "bin" / name
        path.unlink(missing_ok=True)  # It may be a link to the machine's own.
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)

    def is_debian(self, version: int) -> None:
        (self.machine / "etc/os-release").write_text(f'ID=debian\nVERSION_ID="{version}"\n')

    def deps(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
        fixed = {"PATH": str(self.machine / "bin"), "MACHINE": str(self.machine),
                 "KVCAST_DEPS_MACHINE": str(self.machine)}
        return subprocess.run([self.machine / "bin/sh", DEPS, *arguments], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, env=fixed | environment)

    def asked(self) -> str:
        path = self.machine / "asked"
        return path.read_text() if path.exists() else ""


class Listing(Machine):
    def listed(self, purpose: str, **environment: str) -> set[str]:
        lines = self.deps("list", purpose, **environment).stdout.splitlines()
        self.assertTrue(all(len(line.split()) > 2 for line in lines), "no word on what it is for")
        return {line.split()[1] for line in lines}

    def test_purposes_nest(self):
        run, test, bench = map(self.listed, ["run", "test", "bench"])
        self.assertLess(run, test)
        self.assertLess(run, bench)
        self.assertIn("libngtcp2-dev", run)
        self.assertIn("clang", test)

    def test_who_only_runs_gets_none_of_what_tests(self):
        self.assertFalse({"clang", "clang-tidy", "libgtest-dev", "libbenchmark-dev"} &
                         self.listed("run"))

    def test_a_peer_comes_with_the_benchmarks_only(self):
        extra = {"KVCAST_DEPS_EXTRA": "peer|redis-server|||a cache to compare with"}
        self.assertIn("redis-server", self.listed("bench", **extra))
        self.assertNotIn("redis-server", self.listed("test", **extra))

    def test_a_purpose_it_does_not_know(self):
        self.assertEqual(self.deps("fly").returncode, 2)
        self.assertEqual(self.deps().returncode, 2)


class Installing(Machine):
    def test_nothing_is_done_where_nothing_is_missing(self):
        ran = self.deps("test")
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", ""))
        self.assertEqual(self.asked(), "")

    def test_what_is_missing_is_installed_and_nothing_else(self):
        self.assertEqual(self.deps("run", HAVE="cmake=none liburing-dev=none").returncode, 0)
        self.assertTrue(self.asked().endswith(" cmake liburing-dev\n"))
        self.assertIn(" --no-install-recommends ", self.asked())

    def test_what_the_user_has_stays(self):
        self.deps("run", HAVE="cmake=none")
        self.assertIn(" --no-remove ", self.asked())

    def test_a_library_built_another_way_does_as_well(self):
        have = "libcurl4-gnutls-dev=none"
        self.assertEqual(self.deps("run", HAVE=have).returncode, 0)
        self.assertEqual(self.asked(), "")
        self.assertEqual(self.deps("run", HAVE=have + " libcurl4-openssl-dev=none").returncode, 0)
        self.assertTrue(self.asked().endswith(" libcurl4-gnutls-dev\n"))

    def test_what_apt_says_is_shown_when_it_fails(self):
        self.stand_in("apt-get", "echo the reason; exit 100")
        ran = self.deps("run", HAVE="cmake=none")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("the reason", ran.stderr)
        self.assertIn("repeat tools/deps run", ran.stderr)

    def test_who_cannot_become_root_is_told_what_is_missing(self):
        self.stand_in("id", "echo 1000")
        ran = self.deps("run", HAVE="cmake=none")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("missing: cmake. Run this as root", ran.stderr)

    def test_sudo_is_not_let_ask_without_a_terminal(self):
        self.stand_in("id", "echo 1000")
        self.stand_in("sudo", "exit 1")
        ran = self.deps("run", HAVE="cmake=none")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("password", ran.stderr)

    def test_elsewhere_it_only_looks(self):
        (self.machine / "etc/os-release").write_text("ID=other\n")
        self.assertEqual(self.deps("run").returncode, 0)
        self.stand_in("pkg-config", 'case $* in *ngtcp2*) exit 1 ;; esac')
        ran = self.deps("run")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("missing, or too old: libngtcp2-dev >= 1.0, libngtcp2-crypto-gnutls-dev >= 1.0.", ran.stderr)
        self.assertEqual(self.asked(), "")

    def test_elsewhere_it_asks_for_versions(self):
        (self.machine / "etc/os-release").write_text("ID=other\n")
        self.stand_in("cmake", "echo cmake version 3.18.4")
        ran = self.deps("run")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("missing, or too old: cmake >= 3.25.", ran.stderr)
        self.stand_in("cmake", "echo cmake version 4.0.1")
        self.assertEqual(self.deps("run").returncode, 0)
        self.stand_in("c++", "exit 1")
        self.assertIn("too old: g++ >= 12 (or clang >= 14).", self.deps("run").stderr)

    def test_one_purpose_at_a_time(self):
        for words in [("run", "test"), ("list", "run", "test")]:
            ran = self.deps(*words)
            self.assertEqual(ran.returncode, 2)
            self.assertIn("tools/deps run|test|check|bench", ran.stderr)
        self.assertEqual(self.asked(), "")


@unittest.skipUnless(shutil.which("dpkg"), "versions are compared by dpkg")
class Backports(Machine):
    OLD = "libngtcp2-dev=0.12.1+dfsg-1"

    def source(self, name: str, content: str, entry: int) -> str:
        path = self.machine / "etc/apt/sources.list.d" / name
        path.write_text(content)
        return f"{path}:{entry}"

    def added(self, suffix: str) -> Path:
        return self.machine / f"etc/apt/sources.list.d/kvcast-backports.{suffix}"

    def test_are_the_machines_own_source_with_another_suite(self):
        entry = self.source("debian.sources", DEB822, 2)
        self.assertEqual(self.deps("run", HAVE=self.OLD, ENTRY=entry).returncode, 0)
        self.assertEqual(self.added("sources").read_text(), (
            "Types: deb\nURIs: http://mirror.example/debian\nSuites: bookworm-backports\n"
            "Components: main contrib\n"
            "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n"))
        self.assertTrue(self.asked().endswith(" libngtcp2-dev/bookworm-backports\n"))

    def test_can_be_read_by_everybody_whatever_the_mask(self):
        entry = self.source("debian.sources", DEB822, 2)
        before = os.umask(0o077)
        self.addCleanup(os.umask, before)
        self.stand_in("tee", 'umask 077; cat >"$1"')  # As sudo would.
        self.assertEqual(self.deps("run", HAVE=self.OLD, ENTRY=entry).returncode, 0)
        self.assertEqual(self.added("sources").stat().st_mode & 0o777, 0o644)

    def test_are_copied_from_a_line_too(self):
        entry = self.source("debian.list", "# bookworm\ndeb [arch=amd64 signed-by=/k.gpg] "
                            "http://mirror.example/bookworm bookworm main contrib # ours\n", 2)
        self.assertEqual(self.deps("run", HAVE=self.OLD, ENTRY=entry).returncode, 0)
        self.assertEqual(self.added("list").read_text().strip(), (
            "deb [arch=amd64 signed-by=/k.gpg] http://mirror.example/bookworm "
            "bookworm-backports main contrib"))

    def test_are_not_added_twice(self):
        entry = self.source("own.list", "deb http://mirror.example bookworm-backports main\n", 1)
        self.assertEqual(self.deps("run", HAVE=self.OLD, ENTRY=entry).returncode, 0)
        self.assertFalse(self.added("list").exists())
        self.assertIn("libngtcp2-dev/bookworm-backports", self.asked())

    def test_are_taken_away_again_where_they_do_not_help(self):
        entry = self.source("debian.sources", DEB822, 2)
        ran = self.deps("run", HAVE=self.OLD, ENTRY=entry, BARREN="1")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("bookworm-backports: add that suite", ran.stderr)
        self.assertFalse(self.added("sources").exists())
        self.assertEqual(self.asked(), "")

    def test_come_from_the_first_source_that_has_them(self):
        disc = self.source("a.list", "deb cdrom:[Debian]/ bookworm main\n", 1)
        mirror = self.source("b.list", "deb http://mirror.example bookworm main\n", 1)
        ran = self.deps("run", HAVE=self.OLD, ENTRY=f"{disc} {mirror}", MIRROR="mirror.example")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("mirror.example bookworm-backports", self.added("list").read_text())

    def test_are_added_where_only_another_release_has_what_is_needed(self):
        entry = self.source("debian.sources", DEB822, 2)
        self.assertEqual(self.deps("run", HAVE=self.OLD, ENTRY=entry, ELSEWHERE="1").returncode, 0)
        self.assertTrue(self.added("sources").exists())

    def test_are_not_for_debian_13(self):
        self.is_debian(13)
        entry = self.source("debian.sources", DEB822, 2)
        self.assertEqual(self.deps("run", HAVE=self.OLD, ENTRY=entry).returncode, 1)
        self.assertFalse(self.added("sources").exists())

    def test_are_not_for_debian_13_in_any_language(self):
        self.is_debian(13)
        ran = self.deps("run", HAVE=self.OLD, ENTRY="", CANDIDATE="1.11.0", LC_ALL="de_DE.UTF-8")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("libngtcp2-dev", self.asked())
        self.assertNotIn("backports", self.asked())

    def test_are_not_needed_for_a_version_from_them(self):
        self.assertEqual(self.deps("run", HAVE="libngtcp2-dev=1.11.0-1~bpo12+1").returncode, 0)
        self.assertEqual(self.asked(), "")


class Peers(Machine):
    def install(self, **environment: str) -> subprocess.CompletedProcess:
        return self.deps("bench", HAVE="redis-server=none",
                         KVCAST_DEPS_EXTRA="peer|redis-server|||a cache", **environment)

    def test_are_installed_without_being_started(self):
        self.assertEqual(self.install().returncode, 0)
        self.assertIn("redis-server", self.asked())
        self.assertIn("exit 101", (self.machine / "guard").read_text())
        self.assertFalse(self.policy.exists())

    def test_and_what_comes_with_them_do_not_start_with_the_machine(self):
        for tool in ["systemctl", "update-rc.d"]:
            self.stand_in(tool, f'echo "{tool} $*" >>"$MACHINE/disabled"')
        self.assertEqual(self.install().returncode, 0)
        disabled = (self.machine / "disabled").read_text()
        for name in ["redis-server", "watchdog"]:
            for line in [f"systemctl disable {name}.service", f"systemctl disable {name}.target",
                         f"update-rc.d {name} disable"]:
                self.assertIn(line + "\n", disabled)
        self.assertNotIn("ssh-server", disabled)  # It was there before.
        self.assertNotIn("@", disabled)

    def test_leave_no_guard_behind_when_they_fail(self):
        self.assertEqual(self.install(APT_STATUS="100").returncode, 1)
        self.assertTrue((self.machine / "guard").exists())
        self.assertFalse(self.policy.exists())

    def test_leave_the_machines_own_guard_alone(self):
        self.policy.write_text("#!/bin/sh\nexit 101\n")
        self.policy.chmod(0o755)
        self.assertEqual(self.install().returncode, 0)
        self.assertEqual(self.policy.read_text(), "#!/bin/sh\nexit 101\n")

    def test_are_not_installed_past_a_guard_that_lets_them_start(self):
        self.policy.write_text("#!/bin/sh\nexit 0\n")
        self.policy.chmod(0o755)
        ran = self.install()
        self.assertEqual(ran.returncode, 1)
        self.assertIn("would let redis-server start", ran.stderr)
        self.assertEqual(self.asked(), "")
        self.assertEqual(self.policy.read_text(), "#!/bin/sh\nexit 0\n")

    def test_other_packages_need_no_guard(self):
        self.assertEqual(self.deps("bench", HAVE="libbenchmark-dev=none").returncode, 0)
        self.assertFalse((self.machine / "guard").exists())


if __name__ == "__main__":
    unittest.main()
