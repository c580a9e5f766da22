"""Plants what the layering check is there to find."""

import unittest

from layering import check
from planted import Planted


class Layering(Planted):
    def test_a_clean_tree_passes(self):
        self.plant("kvcast/base/a.h", "#include <chrono>\n#include <gnutls/crypto.h>\n")
        self.plant("kvcast/base/a_test.cc", '#include "kvcast/base/a.h"\n#include <thread>\n')
        self.plant("kvcast/object/o.cc", '#include "kvcast/base/a.h"\n//#include "kvcast/kv/x.h"\n')
        self.plant("sim/world.cc", '#include "sim/world.h"\n#include "kvcast/object/o.h"\n')
        self.plant("sim/world.h")
        self.plant("sim/main.cc", '#include "sim/world.h"\n#include <iostream>\n')
        self.declare({"name": "base", "sources": ["a.h"], "tests": ["a_test.cc"]},
                     {"name": "object", "sources": ["o.cc"], "deps": ["base"]},
                     {"name": "sim", "sources": ["world.cc", "world.h"], "deps": ["object"],
                      "programs": ["main.cc"],
                      "links": "kvcast_object kvcast_flags kvcast_sim CLI11::CLI11"})
        self.assertEqual(check(self.source, self.build), [])

    def test_a_module_that_is_no_direct_dependency(self):
        self.plant("kvcast/kv/k.cc", '\n#include "kvcast/base/a.h"\n')
        self.declare({"name": "base"}, {"name": "object", "deps": ["base"]},
                     {"name": "kv", "deps": ["object"], "sources": ["k.cc"]})
        self.plant("kvcast/base/README.md")
        self.assert_one(check(self.source, self.build), "kvcast/kv/k.cc:2", "kvcast/base/a.h")

    def test_a_test_is_bound_by_the_dependencies_too(self):
        self.plant("kvcast/base/a_test.cc", '#include "kvcast/kv/k.h"\n')
        self.declare({"name": "base", "tests": ["a_test.cc"]}, {"name": "kv"})
        self.assert_one(check(self.source, self.build), "a_test.cc:1", "kvcast/kv/k.h")

    def test_an_include_that_is_not_from_the_root(self):
        self.plant("kvcast/base/a.cc", '#include "a.h"\n')
        self.declare({"name": "base", "sources": ["a.cc"]})
        self.assert_one(check(self.source, self.build), "a.cc:1", "from the root")

    def test_an_include_in_angle_brackets(self):
        self.plant("kvcast/base/a.cc", "#include <kvcast/io/clock.h>\n")
        self.declare({"name": "base", "sources": ["a.cc"]})
        self.assert_one(check(self.source, self.build), "a.cc:1", "kvcast/io/clock.h")

    def test_angle_brackets_around_what_is_no_module(self):
        self.plant("kvcast/base/a.cc", "#include <examples/tinylm/engine.h>\n")
        self.plant("examples/tinylm/engine.h")
        self.declare({"name": "base", "sources": ["a.cc"]})
        self.assert_one(check(self.source, self.build), "a.cc:1", "examples/tinylm/engine.h")

    def test_a_header_by_another_suffix(self):
        for name in ("evil.hpp", "evil.inc"):
            self.plant(f"kvcast/base/{name}")
            self.declare({"name": "base", "sources": []})
            self.assert_one(check(self.source, self.build), f"kvcast/base/{name}", "not listed")
            (self.source / "kvcast/base" / name).unlink()

    def test_an_include_that_climbs_into_another_module(self):
        self.plant("kvcast/base/a.cc", '#include "kvcast/base/../io/clock.h"\n')
        self.declare({"name": "base", "sources": ["a.cc"]})
        self.assert_one(check(self.source, self.build), "a.cc:1", "from the root")

    def test_modules_that_depend_on_each_other(self):
        self.declare({"name": "a", "deps": ["b"]}, {"name": "b", "deps": ["a"]})
        self.assert_one(check(self.source, self.build), "each other", "a -> b")

    def test_a_dependency_that_is_no_module(self):
        self.declare({"name": "a", "deps": ["b"]})
        self.assert_one(check(self.source, self.build), "b, which is no module")

    def test_a_file_that_nobody_lists(self):
        self.plant("kvcast/codec/simd/orphan.cc")
        self.declare({"name": "codec"})
        self.assert_one(check(self.source, self.build), "kvcast/codec/simd/orphan.cc", "not listed")

    def test_a_listed_file_that_is_not_there(self):
        self.plant("kvcast/codec/README.md")
        self.declare({"name": "codec", "fuzzers": ["gone_fuzz.cc"]})
        self.assert_one(check(self.source, self.build), "gone_fuzz.cc", "not there")

    def test_a_pure_module_on_one_that_is_not(self):
        self.declare({"name": "io", "pure": False}, {"name": "client", "deps": ["io"]})
        self.assert_one(check(self.source, self.build), "client", "pure", "io")

    def test_a_module_that_stops_being_pure(self):
        self.declare({"name": "store", "pure": False})
        self.assert_one(check(self.source, self.build), "store", "PURE")

    def test_what_must_never_be_is_not_healed_by_declaring_it(self):
        self.declare({"name": "kv"}, {"name": "relay", "deps": ["kv"]})
        self.assert_one(check(self.source, self.build), "relay", "never", "kv")

    def test_a_simulator_that_includes_the_machine(self):
        for name in ["io", "engine", "host"]:
            with self.subTest(name):
                self.plant("sim/main.cc", f'#include "kvcast/{name}/loop.h"\n')
                self.declare({"name": name, "pure": False},
                             {"name": "sim", "programs": ["main.cc"]})
                self.assert_one(check(self.source, self.build), "sim/main.cc:1", f"kvcast/{name}/")

    def test_a_simulator_that_declares_the_machine(self):
        self.declare({"name": "io", "pure": False}, {"name": "sim", "deps": ["io"]})
        complaints = check(self.source, self.build)
        self.assertIn("sim: must never depend on io", complaints)

    def test_a_simulator_that_links_the_machine(self):
        for name in ["io", "engine", "host"]:
            with self.subTest(name):
                self.declare({"name": name, "pure": False},
                             {"name": "sim", "links": f"kvcast_flags kvcast_{name} kvcast_sim"})
                self.assert_one(check(self.source, self.build), f"sim: is linked with {name}")

    def test_a_simulator_that_is_no_module(self):
        self.plant("sim/main.cc", '#include "kvcast/io/loop.h"\n')
        self.declare({"name": "base"})
        self.assert_one(check(self.source, self.build), "sim: is no module")

    def test_a_test_that_is_linked_with_more_than_its_module(self):
        self.declare({"name": "base", "links": "kvcast_flags kvcast_base GTest::gtest kvcast_kv"},
                     {"name": "kv"})
        self.assert_one(check(self.source, self.build), "base: is linked with kv")

    def test_an_include_that_hides(self):
        for code in ['%:include "kvcast/io/clock.h"', "#define H <thread>\n#include H",
                     '#include/**/"kvcast/io/clock.h"', '/**/ #include "kvcast/io/clock.h"',
                     '# /* */ include <thread>']:
            with self.subTest(code):
                self.plant("kvcast/base/a.cc", f"{code}\n")
                self.declare({"name": "base", "sources": ["a.cc"]})
                self.assert_one(check(self.source, self.build), "a.cc:", "not written as #include")

    def test_an_include_in_words(self):
        self.plant("kvcast/base/a.cc", '// #include H\nauto x = "#include H";\n')
        self.declare({"name": "base", "sources": ["a.cc"]})
        self.assertEqual(check(self.source, self.build), [])

    def test_the_machine_in_a_pure_module(self):
        for header in ["thread", "fstream", "sys/socket.h", "unistd.h", "spdlog/spdlog.h"]:
            with self.subTest(header):
                self.plant("kvcast/base/a.cc", f"#include <{header}>\n")
                self.declare({"name": "base", "sources": ["a.cc"]})
                self.assert_one(check(self.source, self.build), "a.cc:1", header, "pure")


if __name__ == "__main__":
    unittest.main()
