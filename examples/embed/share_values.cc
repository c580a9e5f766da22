// The same in C++, for one block: share_values NODE
#include <cstdio>
#include <kvcast/kvcast.hpp>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s NODE\n", argv[0]);
    return 64;
  }
  kvcast::Node node;
  node.address = argv[1];
  auto store = kvcast::Store::Open(node, {"example", "example 1; text", 16});
  if (!store) {
    std::fprintf(stderr, "%s\n", store.failure().message.c_str());
    return 2;
  }
  std::string memory = "what one engine computed" + std::string(24, '.');
  const auto region = store->Register(memory.data(), memory.size());
  if (!region) {
    return 2;
  }
  const auto put = store->Put({{"a key", *region, 0, 24}});
  const auto found = store->Lookup({{"a key"}, {"another key"}});
  const auto got = store->Get({{"a key", *region, 24, 24}, {"another key", *region, 0, 24}});
  if (!put || !found || !got) {
    return 2;
  }
  std::printf("put: %s, found: %zu of 2, got: %s and %s\n", kvcast::ToString(put->at(0)),
              kvcast::Leading(*found), kvcast::ToString(got->at(0)), kvcast::ToString(got->at(1)));
  std::printf("%s\n", memory.c_str() + 24);
  return kvcast::IsGood(got->at(0)) ? 0 : 1;
}
