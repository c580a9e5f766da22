#include "kvcast/kv/cache_track.h"

#include <algorithm>
#include <cstring>

#include "kvcast/base/hex.h"

namespace kvcast {
namespace {

constexpr std::string_view kService = "moq://kvcache.moq.arpa/v1/";
constexpr size_t kModelNameBytesMax = 255;
constexpr size_t kShortFpDigits = 16;

bool IsModelNameCharacter(char c) { return c > ' ' && c <= '~' && c != '@'; }
bool IsLowerHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

Error Malformed(std::string message) { return Error(ErrorCode::kMalformed, std::move(message)); }

}  // namespace

bool IsModelName(std::string_view name) {
  return !name.empty() && name.size() <= kModelNameBytesMax &&
         std::ranges::all_of(name, IsModelNameCharacter);
}

Result<ModelScope> ModelScope::Of(Tenant tenant, std::string_view model_name,
                                  const Digest& model_fp) {
  if (!IsModelName(model_name)) {
    return Error(ErrorCode::kInvalid,
                 "\"" + Printable(model_name) +
                     "\" is not a model name: 1 to 255 printable characters without space or @.");
  }
  return ModelScope(std::move(tenant), std::string(model_name),
                    model_fp.ToHex().substr(0, kShortFpDigits));
}

Result<ModelScope> ModelScope::ParseField(std::string_view field) {
  const size_t slash = field.find('/');
  const size_t at = field.rfind('@');
  if (slash == std::string_view::npos || at == std::string_view::npos || at < slash) {
    return Malformed("\"" + Printable(field) + "\" is not TENANT/MODEL@FINGERPRINT.").At(0);
  }
  const std::string_view short_fp = field.substr(at + 1);
  if (short_fp.size() != kShortFpDigits || !std::ranges::all_of(short_fp, IsLowerHex)) {
    return Malformed("A model's short fingerprint is 16 lower-case hex digits.").At(at + 1);
  }
  Result<Tenant> tenant = Tenant::Of(field.substr(0, slash));
  if (!tenant.ok()) {
    return std::move(tenant).error().At(0);
  }
  Result<ModelScope> scope =
      Of(*std::move(tenant), field.substr(slash + 1, at - slash - 1), Digest());
  if (!scope.ok()) {
    return std::move(scope).error().At(slash + 1);
  }
  scope->short_fp_ = short_fp;
  return scope;
}

Result<ModelScope> ModelScope::Parse(const TrackNamespace& space) {
  if (space.field_count() < 2 || space.field(0) != kService) {
    return Malformed("This is not a name of a KV cache.");
  }
  return ParseField(space.field(1));
}

TrackNamespace ModelScope::Namespace() const { return *TrackNamespace::Of({kService, Field()}); }

TrackName TrackNameOf(const ModelScope& scope, const BlockHash& prefix,
                      const Generation& generation, std::string_view name) {
  const std::string field = scope.Field();
  const TrackNamespace space =
      *TrackNamespace::Of({kService, field, AsText(prefix.bytes), AsText(generation)});
  return *TrackName::Of(space, std::string(name));
}

TrackName CacheTrack::Name() const {
  return TrackNameOf(scope, prefix, generation, std::string(ToString(rung)) + slice.Suffix());
}

Result<CacheTrack> CacheTrack::Parse(const TrackName& name) {
  const TrackNamespace& space = name.space();
  if (space.field_count() != 4 || space.field(2).size() != Digest::kBytes ||
      space.field(3).size() != sizeof(Generation)) {
    return Malformed("This is not the track of a KV cache.");
  }
  KVCAST_TRY(const ModelScope scope, ModelScope::Parse(space));
  const size_t rung_end = std::min(name.name().find(';'), name.name().size());
  const std::string_view rung_name = std::string_view(name.name()).substr(0, rung_end);
  const std::optional<Rung> rung = RungOf(rung_name);
  if (!rung) {
    return Error(ErrorCode::kUnsupported, "\"" + Printable(rung_name) + "\" is not a known rung.");
  }
  const Result<Slice> slice = Slice::ParseSuffix(std::string_view(name.name()).substr(rung_end));
  if (!slice.ok()) {
    const Error& error = slice.error();
    return Error(error.code(), error.message()).At(rung_end + error.offset().value_or(0));
  }
  CacheTrack track{scope, {}, {}, *rung, *slice};
  std::ranges::copy(AsBytes(space.field(2)), track.prefix.bytes.begin());
  std::ranges::copy(AsBytes(space.field(3)), track.generation.begin());
  return track;
}

}  // namespace kvcast
