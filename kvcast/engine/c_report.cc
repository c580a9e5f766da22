#include "kvcast/engine/c_report.h"

#include <algorithm>
#include <cstdio>

namespace kvcast {
namespace {

constexpr std::string_view kEngineHasIt = "The engine has it.";
constexpr std::string_view kNoMore = "No more blocks are known of.";

// As many as there is room for, each as far as the caller knows of it.
template <typename Struct>
void TellAll(const std::vector<Struct>& all, Struct* places, size_t place_size, size_t* count) {
  for (size_t i = 0; i < std::min(*count, all.size()); ++i) {
    std::memcpy(reinterpret_cast<std::byte*>(places) + i * place_size, &all[i],
                std::min(place_size, sizeof(Struct)));
  }
  *count = all.size();
}

template <size_t kBytes>
void Copy(std::string_view text, char (&to)[kBytes]) {
  (void)std::snprintf(to, kBytes, "%.*s", static_cast<int>(text.size()), text.data());
}

}  // namespace

int32_t StatusOf(BlockOutcome outcome) {
  switch (outcome) {
    case BlockOutcome::kLoaded:
      return KVCAST_ITEM_LOADED;
    case BlockOutcome::kNotHeld:
    case BlockOutcome::kAfterGap:
    case BlockOutcome::kComputingFaster:
      return KVCAST_ITEM_ABSENT;
    case BlockOutcome::kRefused:
      return KVCAST_ITEM_REFUSED;
    case BlockOutcome::kWrong:
      return KVCAST_ITEM_DAMAGED;
    case BlockOutcome::kTooLate:
      return KVCAST_ITEM_LATE;
    case BlockOutcome::kCancelled:
      return KVCAST_ITEM_CANCELLED;
    case BlockOutcome::kNodeLost:
      return KVCAST_ITEM_LOST;
  }
  return KVCAST_ITEM_ABSENT;
}

int32_t StatusOf(PublishFault fault) {
  switch (fault) {
    case PublishFault::kNodeLost:
      return KVCAST_ITEM_LOST;
    case PublishFault::kPatienceOver:
      return KVCAST_ITEM_LATE;
    case PublishFault::kCancelled:
      return KVCAST_ITEM_CANCELLED;
    case PublishFault::kNotDurable:
      return KVCAST_ITEM_NOT_DURABLE;
    case PublishFault::kRefused:
    case PublishFault::kNotKept:
      break;
  }
  return KVCAST_ITEM_REFUSED;
}

// Writes as much of it as the caller knows of.
Result<void> Tell(const kvcast_report& said, const std::string& reason, kvcast_report* report) {
  constexpr size_t kFirstBytes = offsetof(kvcast_report, reason) + sizeof(kvcast_report::reason);
  KVCAST_TRY(const kvcast_report given, Given(report, kFirstBytes));
  kvcast_report full = said;
  full.struct_size = given.struct_size;
  (void)std::snprintf(full.reason, sizeof(full.reason), "%s", reason.c_str());
  std::memcpy(report, &full, std::min(given.struct_size, sizeof(full)));
  return {};
}

namespace {

kvcast_block BlockOf(const LoadReport& report, size_t number) {
  kvcast_block block{};
  block.status = StatusOf(report.outcomes[number]);
  if (const std::optional<Rung> rung = report.RungOf(number)) {
    block.rung = ToString(*rung).data();  // Of a literal, which ends with a zero.
  }
  Copy(report.WhyOf(number), block.why);
  return block;
}

}  // namespace

Result<void> CheckPlaces(const void* places, size_t place_size, size_t first_version_bytes,
                         const size_t* count) {
  constexpr size_t kBytesMax = 4096;
  if (count == nullptr || (*count > 0 && (places == nullptr || place_size < first_version_bytes ||
                                          place_size > kBytesMax))) {
    return Error(ErrorCode::kInvalid,
                 "There is no place for a result, or its size is not what sizeof says.");
  }
  return {};
}

void TellBlocks(const LoadReport& report, size_t skipped, size_t blocks, kvcast_block* places,
                size_t place_size, size_t* count) {
  std::vector<kvcast_block> all(blocks);
  for (size_t i = 0; i < blocks; ++i) {
    if (i < skipped) {
      all[i].status = KVCAST_ITEM_HELD;
      Copy(kEngineHasIt, all[i].why);
    } else if (i - skipped < report.outcomes.size()) {
      all[i] = BlockOf(report, i - skipped);
    } else {
      all[i].status = KVCAST_ITEM_ABSENT;
      Copy(kNoMore, all[i].why);
    }
  }
  TellAll(all, places, place_size, count);
}

void TellOffers(const std::vector<BlockPlace>& offers, kvcast_offer* places, size_t place_size,
                size_t* count) {
  std::vector<kvcast_offer> all;
  for (const BlockPlace& offer : offers) {
    kvcast_offer& told = all.emplace_back();
    told.block = offer.block;
    told.rung = ToString(offer.rung).data();
    told.bytes = offer.bytes;
    told.load_us = -1;
    if (offer.time) {
      told.load_us = std::chrono::duration_cast<std::chrono::microseconds>(*offer.time).count();
    }
    std::memcpy(told.node, offer.node.data(), sizeof(told.node));
    std::memcpy(told.generation, offer.generation.data(), sizeof(told.generation));
  }
  TellAll(all, places, place_size, count);
}

}  // namespace kvcast
