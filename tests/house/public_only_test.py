"""Plants what the check for public headers is there to find."""

import unittest

from planted import Planted
from public_only import check


class PublicOnly(Planted):
    def test_public_headers_and_its_own_pass(self):
        self.plant("examples/tinylm/a.cc", '#include "examples/tinylm/a.h"\n#include <vector>\n#include "kvcast/kvcast.hpp"\n'
                                           '#include "kvcast/kvcast_cache.hpp"\n#include <kvcast/kvcast.h>\n')
        self.plant("kvcast/engine/a.cc", '#include "kvcast/base/result.h"\n')
        self.assertEqual(check(self.source, self.build), [])

    def test_an_inner_header_is_found(self):
        for header in ("kvcast/base/result.h", "kvcast/engine/kvcast.hpp", "kvcast/kv/token.h"):
            self.plant("examples/tinylm/inner/a.h", f'#pragma once\n#include "{header}"\n')
            self.assert_one(check(self.source, self.build), "examples/tinylm/inner/a.h:2", header)

    def test_a_test_may_look_further(self):
        self.plant("examples/tinylm/a_test.cc", '#include "kvcast/host/local_node_test.h"\n')
        self.assertEqual(check(self.source, self.build), [])


if __name__ == "__main__":
    unittest.main()
