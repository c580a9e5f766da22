#include "kvcast/kv/prefix_index.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kvcast/base/byte_reader.h"
#include "kvcast/base/byte_writer.h"
#include "kvcast/base/check.h"
#include "kvcast/base/random.h"

namespace kvcast {
namespace {

// Fields that all tracks of a tenant and model have in common.
constexpr size_t kSharedFields = 2;
// What the allocator adds to a string's own bytes, and what a node of a map costs beside its value.
constexpr size_t kAllocationBytes = 16;
constexpr size_t kMapNodeBytes = 48;
// How many blocks are looked up side by side: enough for the memory to be busy all the time.
constexpr size_t kLookAhead = 32;

uint64_t Load(const BlockHash& hash, size_t word) {
  uint64_t value = 0;
  std::memcpy(&value, hash.bytes.data() + word * sizeof(value), sizeof(value));
  return value;
}

// The two halves of a 128-bit product, folded: every input bit reaches every output bit.
uint64_t Fold(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

size_t HeapBytes(const std::string& text) {
  return text.capacity() < sizeof(std::string) / 2 ? 0 : text.capacity() + 1 + kAllocationBytes;
}

}  // namespace

PrefixIndex::PrefixIndex(size_t bytes_max, uint64_t seed) : bytes_max_(bytes_max) {
  Random random(seed);
  for (uint64_t& word : seeds_) {
    word = random.Next();
  }
}

uint32_t PrefixIndex::TagOf(const BlockHash& hash) const {
  const uint64_t first = Fold(Load(hash, 0) ^ seeds_[0], Load(hash, 1) ^ seeds_[1]);
  const uint64_t second = Fold(Load(hash, 2) ^ seeds_[2], Load(hash, 3) ^ seeds_[3]);
  return static_cast<uint32_t>((first ^ second) >> 32);
}

uint32_t PrefixIndex::TagOf(uint32_t track, uint32_t group) const {
  const uint64_t place = uint64_t{track} << 32 | group;
  return static_cast<uint32_t>(Fold(place ^ seeds_[0], seeds_[1] | 1) >> 32);
}

std::optional<uint32_t> PrefixIndex::FindBlock(uint32_t tag, const BlockHash& hash) const {
  return block_slots_.Find(tag, [&](uint32_t index) { return blocks_[index].hash == hash; });
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
  size_t prefix_bytes = 0;
  for (const auto& [number, prefix] : space_prefixes_) {
    // Kept twice: by number and by name.
    prefix_bytes += 2 * (kMapNodeBytes + sizeof(SpacePrefix) + prefix.space.length() + 16);
  }
  return sizeof(*this) + blocks_.bytes() + sources_.bytes() + tracks_.bytes() + nodes_.bytes() +
         block_slots_.bytes() + source_slots_.bytes() + name_bytes_ + prefix_bytes;
}

NodeRef PrefixIndex::OpenNode() {
  const uint32_t node = nodes_.Allocate();
  nodes_[node].open = true;
  return NodeRef{node};
}

void PrefixIndex::CloseNode(NodeRef ref) {
  const uint32_t node = static_cast<uint32_t>(ref);
  KVCAST_CHECK(nodes_[node].open);
  while (nodes_[node].first_track != kNone) {
    CloseTrack(TrackRef{nodes_[node].first_track});
  }
  nodes_.Free(node);
}

uint32_t PrefixIndex::InternSpacePrefix(const TrackNamespace& space) {
  const auto [known, is_new] = space_prefix_numbers_.try_emplace(space, next_space_prefix_);
  if (is_new) {
    space_prefixes_.emplace(next_space_prefix_++, SpacePrefix{space, 0});
  }
  return known->second;
}

Result<TrackRef> PrefixIndex::OpenTrack(NodeRef ref, const TrackName& name) {
  const uint32_t node = static_cast<uint32_t>(ref);
  KVCAST_CHECK(nodes_[node].open);
  if (bytes() + sizeof(Track) + name.space().length() + name.name().size() > bytes_max_) {
    return Full();
  }
  ++version_;
  std::vector<std::string_view> fields;
  for (size_t i = 0; i < name.space().field_count(); ++i) {
    fields.push_back(name.space().field(i));
  }
  const size_t shared = std::min(fields.size(), kSharedFields);
  const TrackName rest =
      *TrackName::Of(*TrackNamespace::Of(std::span(fields).subspan(shared)), name.name());
  ByteWriter writer;
  rest.WriteTo(writer);

  const uint32_t index = tracks_.Allocate();
  Track& track = tracks_[index];
  track.node = node;
  track.rest = writer.Take().ToString();
  track.space_prefix = InternSpacePrefix(*TrackNamespace::Of(std::span(fields).first(shared)));
  ++space_prefixes_.at(track.space_prefix).tracks;
  name_bytes_ += HeapBytes(track.rest);
  track.next_of_node = nodes_[node].first_track;
  if (track.next_of_node != kNone) {
    tracks_[track.next_of_node].previous_of_node = index;
  }
  nodes_[node].first_track = index;
  return TrackRef{index};
}

TrackName PrefixIndex::NameOf(const Track& track) const {
  ByteReader reader(AsBytes(track.rest));
  const Result<TrackName> rest = TrackName::ReadFrom(reader);
  KVCAST_CHECK(rest.ok());
  std::vector<std::string_view> fields;
  for (const TrackNamespace* space :
       {&space_prefixes_.at(track.space_prefix).space, &rest->space()}) {
    for (size_t i = 0; i < space->field_count(); ++i) {
      fields.push_back(space->field(i));
    }
  }
  return *TrackName::Of(*TrackNamespace::Of(fields), rest->name());
}

void PrefixIndex::CloseTrack(TrackRef ref) {
  const uint32_t index = static_cast<uint32_t>(ref);
  Track& track = tracks_[index];
  KVCAST_CHECK(track.node != kNone);
  while (track.first_source != kNone) {
    RemoveSource(track.first_source);
  }
  ++version_;
  const uint32_t before = track.previous_of_node;
  (before == kNone ? nodes_[track.node].first_track : tracks_[before].next_of_node) =
      track.next_of_node;
  if (track.next_of_node != kNone) {
    tracks_[track.next_of_node].previous_of_node = before;
  }
  SpacePrefix& prefix = space_prefixes_.at(track.space_prefix);
  if (--prefix.tracks == 0) {
    space_prefix_numbers_.erase(prefix.space);
    space_prefixes_.erase(track.space_prefix);
  }
  name_bytes_ -= HeapBytes(track.rest);
  tracks_.Free(index);
}

Result<void> PrefixIndex::Add(TrackRef ref, uint64_t group, const BlockHash& hash,
                              uint64_t group_bytes) {
  const uint32_t track = static_cast<uint32_t>(ref);
  KVCAST_CHECK(tracks_[track].node != kNone);
  if (group > UINT32_MAX || group_bytes > UINT32_MAX) {
    return Error(ErrorCode::kTooLarge, "A block's group and its bytes are below 2^32.");
  }
  if (const std::optional<uint32_t> known = FindSource(track, group)) {
    const Source& source = sources_[*known];
    if (blocks_[source.block].hash == hash && source.bytes == group_bytes) {
      return {};
    }
    return Error(ErrorCode::kMismatch, "Group " + std::to_string(group) +
                                           " of the track is already there as another block.");
  }
  const size_t grown = block_slots_.bytes_after_insert() - block_slots_.bytes() +
                       source_slots_.bytes_after_insert() - source_slots_.bytes();
  if (bytes() + grown + sizeof(Block) + sizeof(Source) > bytes_max_) {
    return Full();
  }
  ++version_;
  const uint32_t tag = TagOf(hash);
  std::optional<uint32_t> block = FindBlock(tag, hash);
  if (!block) {
    block = blocks_.Allocate();
    blocks_[*block].hash = hash;
    block_slots_.Insert(tag, *block);
  }
  const uint32_t index = sources_.Allocate();
  Source& source = sources_[index];
  source.block = *block;
  source.track = track;
  source.group = static_cast<uint32_t>(group);
  source.bytes = static_cast<uint32_t>(group_bytes);
  source.next_of_block = blocks_[*block].first_source;
  blocks_[*block].first_source = index;
  source.next_of_track = tracks_[track].first_source;
  if (source.next_of_track != kNone) {
    sources_[source.next_of_track].previous_of_track = index;
  }
  tracks_[track].first_source = index;
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
  Block& block = blocks_[source.block];
  uint32_t* link = &block.first_source;
  while (*link != index) {
    link = &sources_[*link].next_of_block;
  }
  *link = source.next_of_block;
  if (block.first_source == kNone) {
    block_slots_.Erase(TagOf(block.hash), source.block);
    blocks_.Free(source.block);
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
  match.blocks_.assign(blocks.size(), kNone);
  std::array<uint32_t, kLookAhead> tags{};
  std::array<uint32_t, kLookAhead> candidates{};
  for (size_t base = 0; base < blocks.size(); base += kLookAhead) {
    const size_t count = std::min(kLookAhead, blocks.size() - base);
    // Three passes, so that the memory fetches one block's slot while we look at another's.
    for (size_t i = 0; i < count; ++i) {
      tags[i] = TagOf(blocks[base + i]);
      block_slots_.Prefetch(tags[i]);
    }
    for (size_t i = 0; i < count; ++i) {
      candidates[i] = block_slots_.Find(tags[i], [](uint32_t) { return true; }).value_or(kNone);
      if (candidates[i] != kNone) {
        __builtin_prefetch(&blocks_[candidates[i]]);
        __builtin_prefetch(&blocks_[candidates[i]].first_source);
      }
    }
    for (size_t i = 0; i < count; ++i) {
      if (candidates[i] != kNone) {
        const BlockHash& wanted = blocks[base + i];
        const bool found = blocks_[candidates[i]].hash == wanted;
        match.blocks_[base + i] =
            found ? candidates[i] : FindBlock(tags[i], wanted).value_or(kNone);
      }
    }
  }
  while (!match.blocks_.empty() && match.blocks_.back() == kNone) {
    match.blocks_.pop_back();
  }
  const auto hole = std::ranges::find(match.blocks_, kNone);
  match.leading_ = static_cast<size_t>(hole - match.blocks_.begin());
  return match;
}

std::vector<BlockSource> PrefixIndex::Sources(const PrefixMatch& match, size_t block) const {
  KVCAST_CHECK(match.version_ == version_);
  std::vector<BlockSource> sources;
  if (!match.Has(block)) {
    return sources;
  }
  for (uint32_t index = blocks_[match.blocks_[block]].first_source; index != kNone;
       index = sources_[index].next_of_block) {
    const Source& source = sources_[index];
    const Track& track = tracks_[source.track];
    sources.push_back({NodeRef{track.node}, NameOf(track), source.group, source.bytes});
  }
  return sources;
}

}  // namespace kvcast
