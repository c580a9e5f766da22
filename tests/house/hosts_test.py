"""Plants what the host check is there to find; in parts, as it reads this file too."""

import unittest

from hosts import check
from planted import Planted


class Hosts(Planted):
    def setUp(self):
        super().setUp()
        self.apt = self.build / "apt"
        (self.apt / "sources.list.d").mkdir(parents=True)

    def complaints(self) -> list[str]:
        return check(self.source, self.build, self.apt)

    def test_other_hosts_pass(self):
        self.plant("README.md", "https://example.com/x, www.iana.org\nlibrary.io, my-crates.iota\n")
        self.plant("picture.png", b"\x89PNG\xff" + ".".join(["crates", "io"]).encode())
        self.assertEqual(self.complaints(), [])

    def test_every_kind_of_registry_is_found(self):
        for parts in [("deb", "debian", "org"), ("ftp", "de", "debian", "org"),
                      ("registry", "npmjs", "org"), ("pypi", "org"), ("index", "crates", "io"),
                      ("registry-1", "docker", "io"), ("proxy", "golang", "org"),
                      ("europe-python", "pkg", "dev"), ("http", "debian", "net"),
                      ("httpredir", "debian", "org"), ("registry", "npmmirror", "com"),
                      ("cran", "r-project", "org"), ("pkg", "go", "dev"), ("apt", "llvm", "org"),
                      ("files", "pythonhosted", "org"), ("huggingface", "co"), ("conda-forge", "org"),
                      ("download", "pytorch", "org"), ("nvcr", "io"), ("mirrors", "aliyun", "com")]:
            with self.subTest(parts):
                host = ".".join(parts)
                self.plant("a.json", f'\n"resolved": "https://{host}/x"\n')
                self.assert_one(self.complaints(), "a.json:2", parts[-2])
                self.plant("a.json", f"From {host}.\n")
                self.assert_one(self.complaints(), "a.json:1")

    def test_the_hosts_of_this_machine_are_found(self):
        self.plant("notes.txt", "\n\nour mirror.example.net has it\nand apt.example.net\n")
        self.assertEqual(self.complaints(), [])
        (self.apt / "sources.list").write_text("deb http://mirror.example.net/debian stable main\n")
        self.assert_one(self.complaints(), "notes.txt:3", "mirror.example.net")
        (self.apt / "sources.list.d" / "x.sources").write_text("URIs: https://apt.example.net\n")
        self.assertEqual(len(self.complaints()), 2)


if __name__ == "__main__":
    unittest.main()
