// The golden vectors of views and of the index; see golden_test.cc for the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "kvcast/kv/block_view.h"
#include "kvcast/kv/golden_topic_test.h"
#include "kvcast/kv/paged_cache.h"
#include "kvcast/kv/prefix_index.h"

namespace kvcast {
namespace {

// An engine's buffers, as large as the case's layout says.
struct Buffers {
  Buffers(const BlockShape& shape, const PageFormat& format, size_t pages) {
    for (const LayerShape& layer : shape.layers()) {
      const size_t row = pages * format.page_tokens * layer.kv_heads * format.value_bytes;
      const bool apart = format.placement == KvPlacement::kApart;
      keys.emplace_back(row * (layer.key_size + (apart ? 0 : layer.value_size)));
      values.emplace_back(apart ? row * layer.value_size : 0);
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      memory.push_back({keys[i], values[i]});
    }
  }
  std::vector<std::vector<std::byte>> keys;
  std::vector<std::vector<std::byte>> values;
  std::vector<LayerMemory> memory;
};

std::optional<IndexRange> ViewRange(const Json& ends) {
  if (ends.is_null()) {
    return std::nullopt;
  }
  return IndexRange{ends[0].get<uint32_t>(), ends[1].get<uint32_t>()};
}

PageFormat FormatIn(const Json& in) {
  const std::string placement = in["placement"].get<std::string>();
  return {in["order"] == "nhd" ? PageOrder::kNhd : PageOrder::kHnd,
          placement == "apart"          ? KvPlacement::kApart
          : placement == "planes_first" ? KvPlacement::kPlanesFirst
                                        : KvPlacement::kPagesFirst,
          in["page_tokens"].get<uint32_t>(), in["value_bytes"].get<uint32_t>()};
}

// Which row, in canonical order: token, layer, K before V, head.
using Place = std::tuple<uint32_t, size_t, Plane, uint32_t>;

// How many bytes of the view's values go before a row in canonical order; absent if it has none
// such.
std::optional<size_t> PositionOf(const BlockView& view, const Place& wanted) {
  size_t position = 0;
  for (uint32_t token = 0; token < view.shape().tokens(); ++token) {
    for (size_t layer = 0; layer < view.shape().layers().size(); ++layer) {
      const LayerShape& shape = view.shape().layers()[layer];
      for (const Plane plane : {Plane::kKey, Plane::kValue}) {
        for (uint32_t head = 0; head < shape.kv_heads && shape.size(plane) > 0; ++head) {
          if (Place(token, layer, plane, head) == wanted) {
            return position;
          }
          position += view.Row(token, layer, plane, head).size();
        }
      }
    }
  }
  EXPECT_EQ(position, view.shape().values_per_token() * view.shape().tokens() * view.value_bytes());
  return std::nullopt;
}

Result<Json> RowOut(const Json& in) {
  std::vector<LayerShape> layers;
  for (const Json& layer : in["layers"]) {
    layers.push_back({layer["kv_heads"].get<uint32_t>(), layer["key_size"].get<uint32_t>(),
                      layer["value_size"].get<uint32_t>()});
  }
  const BlockShape shape(layers, 1);
  const PageFormat format = FormatIn(in);
  Buffers buffers(shape, format, in["pages"].get<size_t>());
  KVCAST_TRY(const PagedCache cache, PagedCache::Of(shape, format, buffers.memory));
  const auto table = in["table"].get<std::vector<uint32_t>>();
  const Slice slice{ViewRange(in["slice"]["layers"]), ViewRange(in["slice"]["heads"])};
  KVCAST_TRY(const BlockView view, BlockView::Of(cache, table, in["first_token"].get<size_t>(),
                                                 in["tokens"].get<uint32_t>(), slice));
  const Place place(in["token"].get<uint32_t>(), in["layer"].get<size_t>(),
                    in["plane"] == "key" ? Plane::kKey : Plane::kValue, in["head"].get<uint32_t>());
  const std::optional<size_t> position = PositionOf(view, place);
  if (!position) {
    return Error(ErrorCode::kInvalid, "The view has no such row.");
  }
  const std::span<const std::byte> row =
      std::apply([&](auto... at) { return view.Row(at...); }, place);
  const size_t layer = std::get<1>(place) + (slice.layers ? slice.layers->first : 0);
  const LayerMemory& memory = buffers.memory[layer];
  const bool in_value = !memory.value.empty() && row.data() >= memory.value.data() &&
                        row.data() < memory.value.data() + memory.value.size();
  const std::span<const std::byte> buffer = in_value ? memory.value : memory.key;
  return Json{{"buffer", in_value ? "value" : "key"},
              {"offset", row.data() - buffer.data()},
              {"bytes", row.size()},
              {"position", *position}};
}

TEST(Golden, Views) { CheckTopic("views", RowOut); }

// An index whose nodes and tracks go by the names that a case gives them.
class NamedIndex {
 public:
  Result<void> Add(const Json& source) {
    const uint64_t node = source["node"].get<uint64_t>();
    const std::string name = source["track"].get<std::string>();
    if (!nodes_.contains(node)) {
      KVCAST_TRY(nodes_[node], index_.OpenNode());
    }
    if (!tracks_.contains({node, name})) {
      KVCAST_TRY(const TrackName track, TrackName::Parse(name));
      const auto number = static_cast<uint32_t>(tracks_.size());
      KVCAST_TRY((tracks_[{node, name}]), index_.OpenTrack(nodes_[node], number, track));
    }
    KVCAST_TRY(const BlockHash key, Digest::FromHex(source["key"].get<std::string>()));
    return index_.Add(tracks_[{node, name}], source["group"].get<uint64_t>(), key,
                      source["bytes"].get<uint64_t>());
  }

  void Remove(const Json& removed) {
    const uint64_t node = removed["node"].get<uint64_t>();
    if (!removed.contains("track")) {
      index_.CloseNode(nodes_.at(node));
      return;
    }
    const TrackRef track = tracks_.at({node, removed["track"].get<std::string>()});
    if (removed.contains("group")) {
      index_.Remove(track, removed["group"].get<uint64_t>());
    } else {
      index_.CloseTrack(track);
    }
  }

  Json Match(std::span<const BlockHash> prompt) const {
    const PrefixMatch match = index_.LongestMatch(prompt);
    Json present = Json::array();
    Json sources = Json::array();
    for (size_t block = 0; block < prompt.size(); ++block) {
      if (match.Has(block)) {
        present.push_back(block);
        sources.push_back(SourcesOf(match, block));
      }
    }
    return {{"leading", match.leading()},
            {"end", match.end()},
            {"present", present},
            {"sources", sources}};
  }

 private:
  Json SourcesOf(const PrefixMatch& match, size_t block) const {
    std::vector<std::tuple<uint64_t, std::string, uint64_t>> sorted;
    for (const BlockSource& source : index_.Sources(match, block)) {
      const auto node = std::ranges::find_if(
          nodes_, [&](const auto& each) { return each.second == source.node; });
      sorted.emplace_back(node->first, source.track.Render(), source.group);
    }
    std::ranges::sort(sorted);
    Json list = Json::array();
    for (const auto& [node, track, group] : sorted) {
      list.push_back({{"node", node}, {"track", track}, {"group", group}});
    }
    return list;
  }

  PrefixIndex index_;
  std::map<uint64_t, NodeRef> nodes_;
  std::map<std::pair<uint64_t, std::string>, TrackRef> tracks_;
};

Result<Json> MatchOut(const Json& in) {
  NamedIndex index;
  for (const Json& source : in["sources"]) {
    KVCAST_TRY_VOID(index.Add(source));
  }
  for (const Json& removed : in["removed"]) {
    index.Remove(removed);
  }
  std::vector<BlockHash> prompt;
  for (const Json& key : in["prompt"]) {
    KVCAST_TRY(const BlockHash hash, Digest::FromHex(key.get<std::string>()));
    prompt.push_back(hash);
  }
  return index.Match(prompt);
}

TEST(Golden, Index) { CheckTopic("index", MatchOut); }

}  // namespace
}  // namespace kvcast
