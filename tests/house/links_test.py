"""Plants links that lead nowhere."""

import unittest

from links import anchors, check
from planted import Planted

FINE = """
# Title
[a](docs/a.md) [b](docs/a.md#what-it-is) [c](#title) ![d](docs/pic.png "A picture") [e](docs/)
[f](/docs/a.md) <img src="docs/pic.png"> [g](https://example.com/none#at-all) `[not](a-link.md)`
[h][ref] [i](docs/with%20space.md) [j](mailto:a@example.com)

[ref]: docs/a.md#what-it-is-1
```
[neither](this.md)
```
"""


class Links(Planted):
    def complaints(self) -> list[str]:
        return check(self.source, self.build)

    def test_links_that_lead_somewhere_pass(self):
        self.plant("docs/a.md", "# What it *is*\n## What it is\n[up](../README.md#title)\n")
        self.plant("docs/pic.png", b"\xff")
        self.plant("docs/with space.md")
        self.plant("README.md", FINE)
        self.assertEqual(self.complaints(), [])

    def test_each_way_to_write_a_dead_link(self):
        for link in ["[a](gone.md)", "![a](gone.md)", '[a](gone.md "Title")', "[a](<gone.md>)",
                     "[a]: gone.md", '<a href="gone.md">', "[![x](https://example.com)](gone.md)"]:
            with self.subTest(link):
                self.plant("README.md", f"\n{link}\n")
                self.assert_one(self.complaints(), "README.md:2", "gone.md is not there")

    def test_a_label_that_nothing_defines(self):
        for link in ["[a][gone]", "[gone][]", "![a][Gone]"]:
            with self.subTest(link):
                self.plant("README.md", f"\n{link} `[b][c]`\n\n[there]: https://example.com\n")
                self.assert_one(self.complaints(), "README.md:2", "is not defined")

    def test_a_source_file_that_is_not_there(self):
        self.plant("kvcast/kv/token.h")
        self.plant("examples/main.cc")
        self.plant("README.md", "Read `kv/token.h`, `kvcast/kv/token.h` and `examples/main.cc`.\n")
        self.assertEqual(self.complaints(), [])
        self.plant("README.md", "\nStart at `kv/gone.cc`.\n")
        self.assert_one(self.complaints(), "README.md:2", "kv/gone.cc is not there")

    def test_a_heading_that_is_not_there(self):
        self.plant("docs/a.md", "# One\n```\n# two\n```\n")
        self.plant("README.md", "[a](docs/a.md#two)\n")
        self.assert_one(self.complaints(), "README.md:1", "docs/a.md#two", "heading")

    def test_a_heading_of_the_page_itself(self):
        self.plant("README.md", "# One\n[a](#two)\n")
        self.assert_one(self.complaints(), "README.md:2", "#two")

    def test_a_way_out_of_the_repository(self):
        (self.source.parent / "beside.md").write_text("")
        self.plant("README.md", "[a](../beside.md)\n")
        self.assert_one(self.complaints(), "out of the repository")


class Anchors(unittest.TestCase):
    def test_are_those_that_github_makes(self):
        page = "# `put`: a *file* & more!\n# A_b-c\n# Größe\nUnder\n=====\n<a id='own'></a>\n"
        self.assertEqual(anchors(page), {"put-a-file--more", "a_b-c", "größe", "under", "own"})


if __name__ == "__main__":
    unittest.main()
