// The golden vectors of an engine's values; see golden_test.cc for the others.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "kvcast/base/hex.h"
#include "kvcast/kv/golden_topic_test.h"
#include "kvcast/kv/value_format.h"
#include "kvcast/kv/value_piece.h"

namespace kvcast {
namespace {

Result<Json> Named(const Json& in) {
  const ValueFormat format{in["model"].get<std::string>(), Unhex(in["layout"]),
                           in["block_tokens"].get<uint32_t>()};
  KVCAST_TRY_VOID(format.Check());
  KVCAST_TRY(BlockNamer namer,
             BlockNamer::Of(NamingKey::Public(), format.Fingerprint(), Unhex(in["salt"])));
  const std::string key = Unhex(in["key"]);
  const std::string_view hash = key;
  KVCAST_TRY(const PrefixChain chain, PrefixChain::OfEngineHashes(namer, std::span(&hash, 1)));
  return Json{{"format", Hex(format.Encode())},
              {"model_fp", format.Fingerprint().ToHex()},
              {"name", chain.last().ToHex()}};
}

Result<Json> Cut(const Json& in) {
  KVCAST_TRY(const BlockHash name, Digest::FromHex(in["name"].get<std::string>()));
  std::string value;
  for (uint64_t i = 0; i < in["times"].get<uint64_t>(); ++i) {
    value += Unhex(in["bytes"]);
  }
  if (value.empty()) {
    return Error(ErrorCode::kInvalid, "A value has a byte at least.");
  }
  Json headers = Json::array();
  Json bodies = Json::array();
  for (uint32_t i = 0; i < ValuePiece::CountOf(value.size()); ++i) {
    const std::string piece = ValuePiece::Make(name, AsBytes(value), i).ToString();
    headers.push_back(Hex(piece.substr(0, ValuePiece::kHeaderBytes)));
    bodies.push_back(piece.size() - ValuePiece::kHeaderBytes);
  }
  return Json{{"headers", headers}, {"body_bytes", bodies}};
}

Result<Json> Taken(const Json& in) {
  KVCAST_TRY(const BlockHash name, Digest::FromHex(in["name"].get<std::string>()));
  std::vector<std::byte> value(in["length"].get<size_t>());
  const Bytes piece = Bytes::Of(Unhex(in["piece"]));
  KVCAST_TRY_VOID(ValuePiece::Take(name, piece, in["index"].get<uint32_t>(), value));
  return Json{{"body", ToHex(value)}};
}

TEST(Golden, Values) {
  CheckTopic("value", [](const Json& in) {
    return in.contains("piece") ? Taken(in) : in.contains("name") ? Cut(in) : Named(in);
  });
}

}  // namespace
}  // namespace kvcast
