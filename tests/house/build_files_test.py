"""Plants what the check of build files is there to find."""

import unittest

from build_files import check
from planted import Planted


class BuildFiles(Planted):
    def test_targets_that_name_what_they_need_pass(self):
        self.plant("CMakeLists.txt", "# no file(GLOB x) here\ntarget_include_directories(a PRIVATE b)\n"
                   "target_link_libraries(a PRIVATE c)\ntarget_compile_options(a PRIVATE -O2)\n")
        self.plant("a.py", 'words = "file(GLOB x *.cc)"\n')
        self.assertEqual(check(self.source, self.build), [])

    def test_globbing(self):
        for words in ["file(GLOB x *.cc)", "FILE ( GLOB_RECURSE x", "file(\n  GLOB x", "aux_source_directory(. x)"]:
            with self.subTest(words):
                self.plant("kvcast/base/CMakeLists.txt", f"\n{words}\n")
                self.assert_one(check(self.source, self.build), "kvcast/base/CMakeLists.txt:2", "pattern")

    def test_flags_for_a_folder(self):
        for words in ["add_compile_options(-O3)", "include_directories(x)", "link_libraries(m)", "add_definitions(-DX)",
                      "set_property(DIRECTORY PROPERTY COMPILE_OPTIONS x)", 'set(CMAKE_CXX_FLAGS "-O3")',
                      'string(APPEND CMAKE_CXX_FLAGS_RELEASE " -g")', "set_directory_properties(PROPERTIES x y)"]:
            with self.subTest(words):
                self.plant("cmake/Flags.cmake", f"\n{words}\n")
                self.assert_one(check(self.source, self.build), "cmake/Flags.cmake:2", "whole folder")


if __name__ == "__main__":
    unittest.main()
