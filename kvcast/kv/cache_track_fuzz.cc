// Any track name: a cache's track that has exactly this name, or an error.
#include "kvcast/base/check.h"
#include "kvcast/kv/cache_track.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  kvcast::ByteReader reader(std::as_bytes(std::span(data, size)));
  const auto name = kvcast::TrackName::ReadFrom(reader);
  if (name.ok()) {
    if (const auto track = kvcast::CacheTrack::Parse(*name); track.ok()) {
      KVCAST_CHECK(track->Name() == *name);
    }
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto slice = kvcast::Slice::ParseSuffix(text); slice.ok()) {
    KVCAST_CHECK(slice->Suffix() == text);
  }
  if (const auto properties = kvcast::Properties::Parse(std::string(text)); properties.ok()) {
    (void)kvcast::BlockHashIn(*properties).ok();
  }
  return 0;
}
