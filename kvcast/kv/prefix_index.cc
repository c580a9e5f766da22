#include "kvcast/kv/prefix_index.h"

#include <algorithm>
#include <cstring>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/check.h"
#include "kvcast/base/random.h"

namespace kvcast {
namespace {

// Fields that all tracks of a tenant and model have in common.
constexpr size_t kSharedFields = 2;
// A track's name in two parts, both encoded: the fields that others have too, and the rest.
struct SplitName {
  std::string shared;
  std::string rest;
};

template <typename Name>
std::string Encode(const Name& name) {
  ByteWriter writer;
  name.WriteTo(writer);
  return writer.Take().ToString();
}

SplitName Split(const TrackName& name) {
  const size_t shared = std::min(name.space().field_count(), kSharedFields);
  const TrackName rest = *TrackName::Of(name.space().After(shared), name.name());
  return {Encode(name.space().First(shared)), Encode(rest)};
}

TrackName Join(const SplitName& split) {
  ByteReader shared_reader(AsBytes(split.shared));
  const Result<TrackNamespace> shared = TrackNamespace::ReadFrom(shared_reader);
  ByteReader rest_reader(AsBytes(split.rest));
  const Result<TrackName> rest = TrackName::ReadFrom(rest_reader);
  KVCAST_CHECK(shared.ok() && rest.ok());
  return *TrackName::Of(*shared->Join(rest->space()), rest->name());
}

}  // namespace

PrefixIndex::PrefixIndex(size_t bytes_max, uint64_t seed)
    : bytes_max_(bytes_max), seed_(seed), blocks_(seed) {}

uint32_t PrefixIndex::TagOf(uint32_t owner, uint32_t number) const {
  return static_cast<uint32_t>(Scatter((uint64_t{owner} << 32 | number) + seed_) >> 32);
}

std::optional<uint32_t> PrefixIndex::FindSource(uint32_t track, uint64_t group) const {
  if (group > UINT32_MAX) {
    return std::nullopt;
  }
  return source_slots_.Find(TagOf(track, static_cast<uint32_t>(group)), [&](uint32_t index) {
    return sources_[index].track == track && sources_[index].group == group;
  });
}

Error PrefixIndex::Full() const {
  return Error(ErrorCode::kTooLarge,
               "The prefix index is full: it may have " + std::to_string(bytes_max_) + " bytes.");
}

size_t PrefixIndex::bytes() const {
  return AllocationBytes(sizeof(*this)) + blocks_.bytes() + sources_.bytes() + tracks_.bytes() +
         nodes_.bytes() + source_slots_.bytes() + track_slots_.bytes() + scopes_.bytes() +
         scope_slots_.bytes() + texts_.bytes();
}

Result<NodeRef> PrefixIndex::OpenNode() {
  if (!HasRoomFor(nodes_.bytes_to_allocate())) {
    return Full();
  }
  const uint32_t node = nodes_.Allocate();
  nodes_[node].open = true;
  return NodeRef{node};
}

void PrefixIndex::CloseTracks(NodeRef ref) {
  const Node& node = nodes_[static_cast<uint32_t>(ref)];
  KVCAST_CHECK(node.open);
  while (node.first_track != kNone) {
    CloseTrack(TrackRef{node.first_track});
  }
}

void PrefixIndex::CloseNode(NodeRef ref) {
  CloseTracks(ref);
  nodes_.Free(static_cast<uint32_t>(ref));
}

// Keyed, for a catalog may name a million scopes.
uint32_t PrefixIndex::TagOf(std::string_view scope_fields) const {
  Sha256 digest;
  digest.Update(std::as_bytes(std::span(&seed_, 1)));
  digest.Update(scope_fields);
  uint32_t tag = 0;
  std::memcpy(&tag, digest.Finish().bytes.data(), sizeof(tag));
  return tag;
}

std::optional<uint32_t> PrefixIndex::FindScope(uint32_t tag, std::string_view fields) const {
  return scope_slots_.Find(
      tag, [&](uint32_t number) { return texts_.Is(scopes_[number].fields, fields); });
}

uint32_t PrefixIndex::InsertScope(uint32_t tag, std::string_view fields) {
  const uint32_t number = scopes_.Allocate();
  scopes_[number].fields = texts_.Put(fields);
  scopes_[number].tag = tag;
  scope_slots_.Insert(tag, number);
  return number;
}

void PrefixIndex::LeaveScope(uint32_t number) {
  Scope& scope = scopes_[number];
  if (--scope.tracks == 0) {
    scope_slots_.Erase(scope.tag, number);
    texts_.Erase(scope.fields);
    scopes_.Free(number);
  }
}

std::optional<TrackRef> PrefixIndex::FindTrack(NodeRef ref, uint32_t number) const {
  const uint32_t node = static_cast<uint32_t>(ref);
  const std::optional<uint32_t> found = track_slots_.Find(TagOf(node, number), [&](uint32_t index) {
    return tracks_[index].node == node && tracks_[index].number == number;
  });
  return found ? std::optional(TrackRef{*found}) : std::nullopt;
}

Result<TrackRef> PrefixIndex::OpenTrack(NodeRef ref, uint32_t number, const TrackName& name) {
  const uint32_t node = static_cast<uint32_t>(ref);
  KVCAST_CHECK(nodes_[node].open && !FindTrack(ref, number));
  const SplitName split = Split(name);
  const uint32_t tag = TagOf(split.shared);
  const std::optional<uint32_t> known = FindScope(tag, split.shared);
  size_t more = tracks_.bytes_to_allocate() + track_slots_.bytes_to_insert();
  size_t pieces = TextSlab::PiecesFor(split.rest);
  if (!known) {
    more += scopes_.bytes_to_allocate() + scope_slots_.bytes_to_insert();
    pieces += TextSlab::PiecesFor(split.shared);
  }
  if (!HasRoomFor(more + texts_.bytes_to_put(pieces))) {
    return Full();
  }
  ++version_;
  const uint32_t index = tracks_.Allocate();
  Track& track = tracks_[index];
  track.node = node;
  track.number = number;
  track_slots_.Insert(TagOf(node, number), index);
  track.rest = texts_.Put(split.rest);
  track.scope = known ? *known : InsertScope(tag, split.shared);
  ++scopes_[track.scope].tracks;
  track.next_of_node = nodes_[node].first_track;
  if (track.next_of_node != kNone) {
    tracks_[track.next_of_node].previous_of_node = index;
  }
  nodes_[node].first_track = index;
  return TrackRef{index};
}

size_t PrefixIndex::CloseTrack(TrackRef ref) {
  const uint32_t index = static_cast<uint32_t>(ref);
  Track& track = tracks_[index];
  KVCAST_CHECK(track.node != kNone);
  size_t removed = 0;
  for (; track.first_source != kNone; ++removed) {
    RemoveSource(track.first_source);
  }
  ++version_;
  const uint32_t before = track.previous_of_node;
  (before == kNone ? nodes_[track.node].first_track : tracks_[before].next_of_node) =
      track.next_of_node;
  if (track.next_of_node != kNone) {
    tracks_[track.next_of_node].previous_of_node = before;
  }
  track_slots_.Erase(TagOf(track.node, track.number), index);
  LeaveScope(track.scope);
  texts_.Erase(track.rest);
  tracks_.Free(index);
  return removed;
}

// Where the block next to a track's next one would be.
uint32_t PrefixIndex::NewestBlockOf(uint32_t track) const {
  const uint32_t newest = tracks_[track].first_source;
  return newest == kNone ? BlockTable::kNone : sources_[newest].block;
}

// Puts a source at the head of its block's list and its track's.
void PrefixIndex::Link(uint32_t index) {
  Source& source = sources_[index];
  uint32_t& first_of_block = blocks_.head(source.block);
  source.next_of_block = first_of_block;
  if (source.next_of_block != kNone) {
    sources_[source.next_of_block].previous_of_block = index;
  }
  first_of_block = index;
  Track& track = tracks_[source.track];
  source.next_of_track = track.first_source;
  if (source.next_of_track != kNone) {
    sources_[source.next_of_track].previous_of_track = index;
  }
  track.first_source = index;
}

Result<void> PrefixIndex::Add(TrackRef ref, uint64_t group, const BlockHash& hash,
                              uint64_t group_bytes) {
  const uint32_t track = static_cast<uint32_t>(ref);
  KVCAST_CHECK(tracks_[track].node != kNone);
  if (group > UINT32_MAX || group_bytes > UINT32_MAX) {
    return Error(ErrorCode::kTooLarge, "A block's group and its bytes are below 2^32.");
  }
  if (hash == BlockHash()) {
    return Error(ErrorCode::kMismatch, "A hash of zeros is nobody's.");
  }
  if (const std::optional<uint32_t> known = FindSource(track, group)) {
    const Source& source = sources_[*known];
    if (blocks_.digest(source.block) == hash && source.bytes == group_bytes) {
      return {};
    }
    return Error(ErrorCode::kMismatch, "Group " + std::to_string(group) +
                                           " of the track is already there as another block.");
  }
  uint32_t block = blocks_.Find(hash);
  const uint32_t near = NewestBlockOf(track);
  const auto has_room = [&](bool may_grow) {
    return HasRoomFor((block == BlockTable::kNone ? blocks_.bytes_to_insert(near, may_grow) : 0) +
                      source_slots_.bytes_to_insert() + sources_.bytes_to_allocate());
  };
  const bool may_grow = has_room(true);
  if (!may_grow && !(blocks_.has_free() && has_room(false))) {
    return Full();
  }
  ++version_;
  if (block == BlockTable::kNone) {
    block = blocks_.Insert(hash, near, may_grow);
  }
  const uint32_t index = sources_.Allocate();
  Source& source = sources_[index];
  source.block = block;
  source.track = track;
  source.group = static_cast<uint32_t>(group);
  source.bytes = static_cast<uint32_t>(group_bytes);
  Link(index);
  source_slots_.Insert(TagOf(track, source.group), index);
  return {};
}

bool PrefixIndex::Remove(TrackRef ref, uint64_t group) {
  const std::optional<uint32_t> index = FindSource(static_cast<uint32_t>(ref), group);
  if (index) {
    RemoveSource(*index);
  }
  return index.has_value();
}

void PrefixIndex::UnlinkFromBlock(uint32_t index) {
  const Source& source = sources_[index];
  uint32_t& first_of_block = blocks_.head(source.block);
  const uint32_t before = source.previous_of_block;
  (before == kNone ? first_of_block : sources_[before].next_of_block) = source.next_of_block;
  if (source.next_of_block != kNone) {
    sources_[source.next_of_block].previous_of_block = before;
  }
  if (first_of_block == kNone) {
    blocks_.Erase(source.block);
  }
}

void PrefixIndex::RemoveSource(uint32_t index) {
  ++version_;
  UnlinkFromBlock(index);
  const Source& source = sources_[index];
  const uint32_t before = source.previous_of_track;
  (before == kNone ? tracks_[source.track].first_source : sources_[before].next_of_track) =
      source.next_of_track;
  if (source.next_of_track != kNone) {
    sources_[source.next_of_track].previous_of_track = before;
  }
  source_slots_.Erase(TagOf(source.track, source.group), index);
  sources_.Free(index);
}

PrefixMatch PrefixIndex::LongestMatch(std::span<const BlockHash> blocks) const {
  PrefixMatch match;
  match.version_ = version_;
  match.blocks_.resize(blocks.size());
  blocks_.FindAll(blocks, match.blocks_);
  while (!match.blocks_.empty() && match.blocks_.back() == PrefixMatch::kMissing) {
    match.blocks_.pop_back();
  }
  const auto hole = std::ranges::find(match.blocks_, PrefixMatch::kMissing);
  match.leading_ = static_cast<size_t>(hole - match.blocks_.begin());
  return match;
}

std::vector<BlockSource> PrefixIndex::Sources(const PrefixMatch& match, size_t block) const {
  KVCAST_CHECK(match.version_ == version_);
  std::vector<BlockSource> sources;
  if (!match.Has(block)) {
    return sources;
  }
  for (uint32_t index = blocks_.head(match.blocks_[block]); index != kNone;
       index = sources_[index].next_of_block) {
    const Source& source = sources_[index];
    const Track& track = tracks_[source.track];
    sources.push_back({NodeRef{track.node},
                       Join({texts_.Get(scopes_[track.scope].fields), texts_.Get(track.rest)}),
                       source.group, source.bytes});
  }
  return sources;
}

}  // namespace kvcast
