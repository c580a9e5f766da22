#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "kvcast/base/result.h"
#include "kvcast/catalog/block_key.h"
#include "kvcast/kv/prefix_chain.h"
#include "kvcast/kv/rung.h"
#include "kvcast/kv/slice.h"
#include "kvcast/kv/tenant.h"
#include "kvcast/object/properties.h"
#include "kvcast/object/track_name.h"

namespace kvcast {

// One act of publishing by one publisher: 16 random bytes, so that bytes under a name never change.
using Generation = std::array<std::byte, 16>;

// 1 to 255 printable ASCII characters without space or @.
bool IsModelName(std::string_view name);

// The scope that catalogs, quotas and authorisation go by: a tenant and a model.
//
//   ( "moq://kvcache.moq.arpa/v1/", "<tenant>/<model name>@<16 hex>" )
class ModelScope {
 public:
  // Invalid: not a model name.
  static Result<ModelScope> Of(Tenant tenant, std::string_view model_name, const Digest& model_fp);
  // From a namespace that begins with the two fields.
  static Result<ModelScope> Parse(const TrackNamespace& space);

  const Tenant& tenant() const { return tenant_; }
  const std::string& model_name() const { return model_name_; }
  // The first 8 bytes of the model's fingerprint: enough to tell people apart, not caches.
  const std::string& short_fp() const { return short_fp_; }

  std::string Field() const { return tenant_.name() + "/" + model_name_ + "@" + short_fp_; }
  TrackNamespace Namespace() const;
  friend bool operator==(const ModelScope&, const ModelScope&) = default;

 private:
  static Result<ModelScope> ParseField(std::string_view field);
  ModelScope(Tenant tenant, std::string model_name, std::string short_fp)
      : tenant_(std::move(tenant)),
        model_name_(std::move(model_name)),
        short_fp_(std::move(short_fp)) {}
  Tenant tenant_;
  std::string model_name_;
  std::string short_fp_;
};

// A track of a prefix, or of whatever else was published as one: what the track is called says
// what.
//
//   namespace ( scope's two fields, d_n of the prefix, generation )     track <name>
TrackName TrackNameOf(const ModelScope& scope, const BlockHash& prefix,
                      const Generation& generation, std::string_view name);

// The track that carries one rung, or a slice of one, of one published prefix: its name is
// <rung><slice>.
struct CacheTrack {
  ModelScope scope;
  BlockHash prefix;
  Generation generation{};
  Rung rung = Rung::kBf16;
  Slice slice;

  TrackName Name() const;
  // Malformed: another namespace; unsupported: a rung this version does not know.
  static Result<CacheTrack> Parse(const TrackName& name);
  friend bool operator==(const CacheTrack&, const CacheTrack&) = default;
};

// The first object of a group carries the block's hash, which is the key that catalogs list it by.
inline Properties BlockHashProperties(const BlockHash& hash) { return BlockKeyProperties(hash); }
inline Result<std::optional<BlockHash>> BlockHashIn(const Properties& properties) {
  return BlockKeyIn(properties);
}

}  // namespace kvcast
