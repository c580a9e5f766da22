// How a disk tier reads, and what it does about what cannot be read and about a disk that does not
// answer.
#include <utility>

#include "kvcast/store/disk_tier.h"

namespace kvcast {

bool DiskTier::Doubts(const TrackName& track, const LocationRange& range) const {
  return doubts_.Any(track, range, [&](const DiskDoubts::Doubt& doubt) {
    const auto found = index_->Find(track, doubt.location);
    return found && found->place == doubt.place;  // It may have been put again since, or gone.
  });
}

std::optional<TierTicket> DiskTier::Get(const TrackName& track, Location location, Instant now) {
  const uint64_t leaving = evict_ ? evict_->leaving_bytes() : 0;
  if (state_ != State::kReady || (!away_ && read_bytes_ + leaving >= options_.read_bytes_max)) {
    return std::nullopt;
  }
  const auto found = index_->Use(track, location);
  if (!found) {
    return std::nullopt;
  }
  policy_->OnUsed(track, location.group, location.object);
  if (away_) {
    events_.push_back(TierRead{++last_ticket_, std::nullopt});
    return last_ticket_;
  }
  Read({.ticket = ++last_ticket_, .track = track, .location = location, .found = *found});
  WatchDevice(now);
  return last_ticket_;
}

void DiskTier::Read(Reading reading) {
  const DiskPlace place = reading.found.place;
  reading.offset = BlocksDown(place.offset);
  reading.length = BlocksUp(place.offset + reading.found.length) - reading.offset;
  ++table_.segments.at(place.segment).reads;
  read_bytes_ += reading.length;
  looks_ += reading.is_look ? 1u : 0u;
  const DeviceToken token = outbox_.Read(place.segment, reading.offset, reading.length);
  readings_.emplace(token, std::move(reading));
}

void DiskTier::OnRead(const Reading& reading, const DeviceCompletion& completion, Instant now) {
  const DiskPlace place = reading.found.place;
  Segment& segment = table_.segments.at(place.segment);
  --segment.reads;
  read_bytes_ -= reading.length;
  looks_ -= reading.is_look ? 1u : 0u;
  TierRead read{reading.ticket, std::nullopt};
  if (completion.error) {
    ++counts_.read_errors;
    OnUnreadable(reading, now);
  } else {
    doubts_.Lift(place);
    const RecordSeat seat{superblock_.directory, segment.marker, place};
    auto parsed = ParseRecord(
        completion.bytes.Slice(place.offset - reading.offset, reading.found.length), seat);
    auto* const stored = parsed.ok() ? std::get_if<StoredObject>(&parsed->record.body) : nullptr;
    if (stored != nullptr && parsed->record.track == reading.track &&
        stored->object.location == reading.location) {
      read.found = std::move(*stored);
    } else {
      ++counts_.damaged;
      index_->Erase(reading.track, reading.location, place);
      Evicted({{reading.track, reading.location.group}});
      logger_.Warning("record damaged", {{"segment", place.segment}, {"offset", place.offset}});
    }
  }
  if (reading.ticket != 0) {
    events_.push_back(std::move(read));
  }
}

void DiskTier::OnUnreadable(const Reading& reading, Instant now) {
  const DiskPlace place = reading.found.place;
  const auto here = index_->Find(reading.track, reading.location);
  if (!here || here->place != place) {
    doubts_.Lift(place);  // It was moved or put again meanwhile, or has gone.
    return;
  }
  const bool is_new = !doubts_.Has(place);
  const bool stays = reading.is_look ? doubts_.OnLookFailed(place, now)
                                     : doubts_.Add({reading.track, reading.location, place}, now);
  if (!stays) {
    GiveUp(reading.track, reading.location, place);
  } else if (is_new) {
    logger_.Warning("object cannot be read; it is read again for a while",
                    {{"segment", place.segment}, {"offset", place.offset}});
  }
}

// Who asks for it then computes it again, and who has it puts it again.
void DiskTier::GiveUp(const TrackName& track, Location location, DiskPlace place) {
  ++counts_.unreadable;
  index_->Erase(track, location, place);
  Evicted({{track, location.group}});
  logger_.Error("object given up: it cannot be read",
                {{"segment", place.segment}, {"offset", place.offset}});
}

void DiskTier::LookAgain(Instant now) {
  while (looks_ < kLooksMax && !away_) {
    const std::optional<DiskDoubts::Doubt> doubt = doubts_.TakeDue(now);
    if (!doubt) {
      return;
    }
    const auto found = index_->Find(doubt->track, doubt->location);
    if (found && found->place == doubt->place) {
      Read({.is_look = true, .track = doubt->track, .location = doubt->location, .found = *found});
    } else {
      doubts_.Lift(doubt->place);
    }
  }
}

void DiskTier::WatchDevice(Instant now) {
  const bool was_away = away_;
  if (outbox_.asked() == answered_) {
    silent_since_.reset();
    away_ = false;
  } else {
    silent_since_ = silent_since_.value_or(now);
    away_ = now >= *silent_since_ + kAwayAfter;
  }
  if (away_ == was_away) {
    return;
  }
  if (!away_) {
    logger_.Info("disk answers again", {});
    return;
  }
  logger_.Error("disk does not answer; the node goes on without it until it does",
                {{"requests", outbox_.asked() - answered_}});
  for (auto& [token, reading] : readings_) {
    if (reading.ticket != 0) {
      events_.push_back(TierRead{std::exchange(reading.ticket, 0), std::nullopt});
    }
  }
}

}  // namespace kvcast
