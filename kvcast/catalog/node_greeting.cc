#include "kvcast/catalog/node_greeting.h"

#include <algorithm>

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

constexpr std::string_view kMark = " node/";

}  // namespace

std::string NodeGreeting(std::string_view program, const NodeId& node) {
  return std::string(program) + std::string(kMark) + ToHex(node);
}

std::optional<NodeId> NodeIn(std::string_view greeting) {
  const size_t mark = greeting.rfind(kMark);
  if (mark == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view digits = greeting.substr(mark + kMark.size());
  const Result<std::vector<std::byte>> bytes =
      digits.size() == 2 * sizeof(NodeId) ? FromHex(digits) : std::vector<std::byte>();
  if (!bytes.ok() || bytes->size() != sizeof(NodeId) || ToHex(*bytes) != digits) {
    return std::nullopt;
  }
  NodeId node{};
  std::ranges::copy(*bytes, node.begin());
  return node;
}

bool IsOfNode(const NodeId& writer, const NodeId& node) {
  return std::equal(writer.begin(), writer.end() - 1, node.begin());
}

}  // namespace kvcast
