"""Plants what the host check is there to find; in parts, as it reads this file too."""

import unittest
import unittest.mock

import tree
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

    def test_caches_and_places_that_are_named_for_other_reasons_pass(self):
        self.plant("README.md", "127.0.0.1:4433, bucket.s3.amazonaws.com, https://github.com/x/y\n")
        for place in ["http://127.0.0.1:3142/debian", "https://s3.amazonaws.com/mirror",
                      "https://github.com/x/packages"]:
            (self.apt / "sources.list").write_text(f"deb {place} stable main\n")
            self.assertEqual(self.complaints(), [])

    def test_a_source_that_only_root_may_read_is_left_out(self):
        self.plant("notes.txt", "apt.example.net\n")
        secret = self.apt / "sources.list.d" / "secret.sources"
        secret.write_text("URIs: https://user:word@apt.example.net\n")
        with unittest.mock.patch("tree.text", side_effect=self.refused(secret)):
            self.assertEqual(self.complaints(), [])

    @staticmethod
    def refused(secret):
        """Root may read everything, and tests may run as root."""
        text = tree.text

        def read(path):
            if path == secret:
                raise PermissionError(path)
            return text(path)
        return read


if __name__ == "__main__":
    unittest.main()
