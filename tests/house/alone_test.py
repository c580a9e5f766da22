"""Plants what the check of files alone is there to find."""

import json
import unittest

from alone import check
from planted import Planted


class Alone(Planted):
    def compile(self, *names: str) -> None:
        """Writes compile_commands.json for these sources."""
        entries = [{"directory": str(self.source), "file": str(self.source / name),
                    "command": f"c++ -std=c++20 -Werror -I{self.source} -o {name}.o "
                               f"-c {self.source / name}"} for name in names]
        (self.build / "compile_commands.json").write_text(json.dumps(entries))

    def test_a_clean_tree_passes(self):
        self.plant("kvcast/base/a.h", "#pragma once\nstruct A {};\n")
        self.plant("kvcast/base/a.cc", '#include "kvcast/base/a.h"\nA Made() { return {}; }\n')
        self.plant("kvcast/base/only.h", "#pragma once\nint Sum(int a, int b);\n")
        self.compile("kvcast/base/a.cc")
        self.assertEqual(check(self.source, self.build), [])
        self.assertFalse((self.source / "kvcast/base/a.cc.o").exists())

    def test_a_source_that_leans_on_its_neighbour(self):
        self.plant("kvcast/base/a.cc", "struct A {};\n")
        self.plant("kvcast/base/b.cc", "A Made() { return {}; }\n")
        self.compile("kvcast/base/a.cc", "kvcast/base/b.cc")
        self.assert_one(check(self.source, self.build), "kvcast/base/b.cc", "alone", "does not name a type")

    def test_a_header_that_leans_on_who_includes_it(self):
        self.plant("kvcast/base/a.h", "#pragma once\nstruct A {};\n")
        self.plant("kvcast/base/b.h", "#pragma once\nA Made();\n")
        self.plant("kvcast/base/a.cc", '#include "kvcast/base/a.h"\n#include "kvcast/base/b.h"\n')
        self.compile("kvcast/base/a.cc")
        self.assert_one(check(self.source, self.build), "kvcast/base/b.h", "alone", "does not name a type")

    def test_a_header_of_tests_alone_is_compiled_as_tests_are(self):
        self.plant("kvcast/base/a.cc", "")
        self.plant("kvcast/base/fake_test.h", "#pragma once\nMissing Made();\n")
        self.plant("kvcast/base/a_test.cc", "")
        self.compile("kvcast/base/a.cc", "kvcast/base/a_test.cc")
        self.assert_one(check(self.source, self.build), "kvcast/base/fake_test.h", "does not name a type")

    def test_a_build_of_another_tree(self):
        self.compile()
        self.assert_one(check(self.source, self.build), "names no file")


if __name__ == "__main__":
    unittest.main()
