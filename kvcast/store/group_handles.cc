#include "kvcast/store/group_handles.h"

#include <cstring>
#include <span>
#include <string>

#include "kvcast/store/ram_index.h"

namespace kvcast {
namespace {

std::string BlockText(const RamGroup& group) {
  const TrackNamespace& space = group.track->name().space();
  std::string text = "block";
  text += AsText(group.key->bytes);
  if (space.field_count() > 1) {
    text += space.First(2).After(1).packed();
  }
  return text + "/" + group.track->name().name();
}

// `copy` is for the case that never happens: 64 bits that are taken.
std::string PlaceText(const RamGroup& group, uint64_t copy) {
  const std::string numbers = std::to_string(group.number) + "/" + std::to_string(copy) + "/";
  return "place" + numbers + std::string(group.track->name().space().packed()) + "/" +
         group.track->name().name();
}

}  // namespace

GroupHandles::GroupHandles(uint64_t secret)
    : digest_(std::as_bytes(std::span(&secret, 1))), groups_(&bytes_) {}

uint64_t GroupHandles::Cut(const std::string& text) {
  const Digest digest = digest_.Of(AsBytes(text));
  uint64_t handle = 0;
  std::memcpy(&handle, digest.bytes.data(), sizeof(handle));
  return handle;
}

void GroupHandles::Add(RamGroup& group) {
  group.handle = group.key ? Cut(BlockText(group)) : Cut(PlaceText(group, 0));
  for (uint64_t copy = 0; groups_.Find(group.handle) != nullptr; ++copy) {
    group.handle = Cut(PlaceText(group, copy));
  }
  groups_.Add(group.handle, &group);
}

void GroupHandles::Remove(const RamGroup& group) { groups_.Remove(group.handle); }

}  // namespace kvcast
