"""Plants what the length check is there to find, and code that is hard to measure."""

import unittest

from cpp_functions import Function, functions
from lengths import LIST, check
from planted import Planted


def body(lines: int) -> str:
    """A function Long of this many lines."""
    return "void Long() {\n" + "  x();\n" * (lines - 2) + "}\n"


class Lengths(Planted):
    def complaints(self) -> list[str]:
        return check(self.source, self.build)

    def test_what_is_just_short_enough_passes(self):
        self.plant("kvcast/a/a.h", "\n" * 250)
        self.plant("kvcast/a/a.cc", body(70) + "\n" * 430)
        self.plant("kvcast/a/a_test.cc", "\n" * 600)
        self.plant("tests/a.py", "\n" * 400)
        self.plant("README.md", "\n" * 9000)
        self.assertEqual(self.complaints(), [])

    def test_every_kind_of_file_has_its_limit(self):
        for name, most in {"a/a.h": 250, "a/a.cc": 500, "a/a_test.cc": 600, "a/a_bench.cc": 600,
                           "a/a_fuzz.cc": 600, "a/a.py": 400}.items():
            with self.subTest(name):
                planted = self.plant(name, "\n" * (most + 1))
                self.assert_one(self.complaints(), name, f"{most + 1} lines")
                planted.unlink()

    def test_a_function_that_does_not_fit_a_screen(self):
        self.plant("a/a.cc", "\n\n" + body(71))
        self.assert_one(self.complaints(), "a/a.cc:3", "a/a.cc:Long has 71 lines")

    def test_a_function_behind_a_macro_without_a_semicolon(self):
        self.plant("a/a.cc", "TARGET_BEGIN\n\nnamespace a {\n" + body(71) + "}  // namespace a\n")
        self.assert_one(self.complaints(), "a/a.cc:Long has 71 lines")

    def test_a_function_with_braces_among_its_parameters(self):
        self.plant("a/a.h", "struct S {\n" + body(71).replace("()", "(const A& a = {}, B b = B{1})", 1) + "};\n")
        self.assert_one(self.complaints(), "a/a.h:Long has 71 lines")

    def test_a_constructor_with_a_lambda_among_its_members(self):
        for members in ["b_(b), on_([this] { f(); })", "on_([this] {\n f(); g();\n }), b_{b}, c_(b)"]:
            with self.subTest(members):
                planted = self.plant("a/a.cc", body(71).replace("void Long() {", f"A::Long(B b) : {members} {{", 1))
                self.assert_one(self.complaints(), "a/a.cc:A::Long has 7")
                planted.unlink()

    def test_a_function_that_gives_a_struct(self):
        for end in ["&& {", "const& {", "-> int {"]:
            with self.subTest(end):
                planted = self.plant("a/a.cc", body(71).replace("void", "struct Y").replace("{", end, 1))
                self.assert_one(self.complaints(), "a/a.cc:Long has 71 lines")
                planted.unlink()

    def test_a_file_of_which_no_function_is_understood(self):
        self.plant("a/a.cc", "x = y\n{\n}\n")
        self.assert_one(self.complaints(), "a/a.cc:3", "could not be measured")

    def test_one_function_among_others_that_is_not_understood(self):
        self.plant("a/a.cc", body(3) + "x = y\n{\n}\n" + body(3))
        self.assert_one(self.complaints(), "a/a.cc:6", "could not be measured")

    def test_a_python_function_too(self):
        self.plant("a.py", "def long():\n" + "    x()\n" * 70)
        self.assert_one(self.complaints(), "a.py:long has 71 lines")

    def test_a_listed_one_may_stay_as_it_is(self):
        self.plant("a/a.cc", body(90))
        self.plant(LIST, "# Why.\na/a.cc:Long 90\n")
        self.assertEqual(self.complaints(), [])

    def test_a_listed_one_may_not_grow(self):
        self.plant("a/a.cc", body(91))
        self.plant(LIST, "a/a.cc:Long 90\n")
        self.assert_one(self.complaints(), "grew from 90 to 91")

    def test_a_listed_one_that_shrank_lowers_its_figure(self):
        self.plant("a/a.h", "\n" * 260)
        self.plant(LIST, "a/a.h 270\n")
        self.assert_one(self.complaints(), "lower it to 260")

    def test_a_listed_one_within_its_limit_leaves_the_list(self):
        self.plant("a/a.h", "\n" * 250)
        self.plant(LIST, "a/a.h 270\n")
        self.assert_one(self.complaints(), "take it off")

    def test_a_listed_one_that_is_gone_leaves_the_list(self):
        self.plant(LIST, "a/a.h 270\n")
        self.assert_one(self.complaints(), "take it off")


HARD = r'''
// void NotThis() {
#define MACRO(x) \
  if (x) {
namespace kvcast {
namespace {
const char* kText = "{ ( \" {";
constexpr int kTable[] = {1'000, 2'000};
std::string raw = R"x({ void Nor() { )x";
}  // namespace
struct Point {
  int x = 0;
  explicit Point(int n)
      : x{n}, y(n) {
    x += 1;
  }
  bool operator==(const Point&) const = default;
  struct Less { bool operator()(int a) const { return a > 0; } };
};
enum class Kind : int { kOne };
template <typename T>
std::vector<T>
Box<T>::Take(
    std::function<void(int)> f) && {
  auto each = [&](int i) {
    return std::map<int, char>{{i, '{'}};
  };
  for (;;) { each(1); }
}
struct Point Make(int a) {
  return {};
}
struct Point Quiet(int a) noexcept {
  f();
  return u8'}';
}
#if TWO
void First() {
}
#else
void Second() {
  x();
}
#endif
#if ONE
void Either() {
#else
void Either(int) {
#endif
}
TEST_F(Suite, Behaves) {
  EXPECT_TRUE(true);
}
}  // namespace kvcast
'''


class Measuring(unittest.TestCase):
    def test_hard_code(self):
        found = {f.name: f.lines for f in functions(HARD)}
        self.assertEqual(found["Box<T>::Take"], 9)
        self.assertEqual(found["Point"], 4)
        self.assertEqual(found["Make"], 3)
        self.assertEqual(found["Quiet"], 4)
        self.assertEqual(found["First"], 2)
        self.assertEqual(found["Second"], 3)
        self.assertIn(found["Either"], (3, 5))
        self.assertEqual(found["Suite.Behaves"], 3)
        self.assertEqual(found["operator()"], 1)
        self.assertNotIn("NotThis", found)
        self.assertNotIn("Nor", found)

    def test_a_function_begins_where_its_declaration_does(self):
        found = list(functions("\nint\nF(int a,\n  int b)\n{\n}\n"))
        self.assertEqual(found, [Function("F", 2, 5)])


if __name__ == "__main__":
    unittest.main()
