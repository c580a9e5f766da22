#include <algorithm>
#include <utility>

#include "kvcast/moqt/junction.h"

// One-way streams of the peer's: whose are they?
namespace kvcast::moqt {

void Junction::OnUniData(StreamId stream, std::span<const std::byte> bytes, bool fin) {
  if (OpenerOf(stream) == Role::kServer) {
    return;
  }
  const auto found =
      unis_.try_emplace(stream, Uni{Uni::Opening{OpeningReader(*options_.codec)}}).first;
  Uni& uni = found->second;
  if (const auto* routed = std::get_if<Uni::Routed>(&uni.state)) {
    parts_[routed->part].user->OnStreamData(stream, bytes, fin);
  } else if (auto* waiting = std::get_if<Uni::Waiting>(&uni.state)) {
    if (waiting_bytes_ + bytes.size() > options_.limits.early_bytes) {
      Refuse(stream, uni, bytes.size());
    } else {
      waiting->bytes += AsText(bytes);
      waiting->fin = fin;
      waiting_bytes_ += bytes.size();
    }
    return;  // It stays until its track is known, or long enough.
  } else if (std::holds_alternative<Uni::Control>(uni.state)) {
    Hand(stream, uni, options_.home, bytes, fin);
  } else if (std::holds_alternative<Uni::Dropped>(uni.state)) {
    Drop(bytes.size());
  } else {
    auto& reader = std::get<Uni::Opening>(uni.state).reader;
    std::span<const std::byte> rest = bytes;
    const Decoded<std::optional<StreamOpening>> opening = reader.Read(rest);
    const std::string begun = reader.begun();
    if (!opening.ok() || (!*opening && fin)) {
      Hand(stream, uni, options_.home, AsBytes(begun), fin);  // Which finds what is wrong with it.
    } else if (*opening) {
      OnOpening(stream, uni, begun, **opening, rest, fin);
    }
    if (std::holds_alternative<Uni::Waiting>(uni.state)) {
      return;
    }
  }
  if (fin) {
    unis_.erase(stream);
  }
}

void Junction::OnOpening(StreamId stream, Uni& uni, const std::string& begun,
                         const StreamOpening& opening, std::span<const std::byte> rest, bool fin) {
  std::string whole = begun;
  whole += AsText(rest);
  if (std::holds_alternative<ControlOpening>(opening)) {
    uni.state = Uni::Control{};
    Hand(stream, uni, options_.home, AsBytes(whole), fin);
  } else if (const auto* header = std::get_if<SubgroupHeader>(&opening)) {
    const auto alias = aliases_.find(header->alias);
    if (alias == aliases_.end()) {
      Await(stream, uni, header->alias, std::move(whole), fin);
    } else {
      Hand(stream, uni, alias->second.part, AsBytes(whole), fin);
    }
  } else if (const auto* fetch = std::get_if<FetchOpening>(&opening)) {
    // Ids of ours are dealt out to the parts in turn.
    Hand(stream, uni, fetch->request_id / 2 % parts_.size(), AsBytes(whole), fin);
  } else {
    uni.state = Uni::Dropped{};
    Drop(whole.size());
  }
}

void Junction::Hand(StreamId stream, Uni& uni, size_t part, std::span<const std::byte> bytes,
                    bool fin) {
  if (!std::holds_alternative<Uni::Control>(uni.state)) {
    uni.state = Uni::Routed{part};
    parts_[part].user->OnStreamData(stream, bytes, fin);
    return;
  }
  for (size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].surplus += i == options_.home ? 0 : bytes.size();
    parts_[i].user->OnStreamData(stream, bytes, fin);
  }
}

void Junction::Drop(size_t bytes) {
  if (bytes > 0) {
    actions_.push_back(ConnectionCredit{bytes});
  }
}

// What waits keeps its own stream from bringing more, and no other.
void Junction::Await(StreamId stream, Uni& uni, uint64_t alias, std::string bytes, bool fin) {
  const size_t size = bytes.size();
  if (waiting_bytes_ + size > options_.limits.early_bytes ||
      waiting_streams_ >= options_.limits.waiting_streams_max) {
    Refuse(stream, uni, size);
    return;
  }
  waiting_bytes_ += size;
  ++waiting_streams_;
  uni.state = Uni::Waiting{alias, std::move(bytes), fin, now_};
}

void Junction::Refuse(StreamId stream, Uni& uni, size_t bytes) {
  if (const auto* waiting = std::get_if<Uni::Waiting>(&uni.state)) {
    waiting_bytes_ -= waiting->bytes.size();
    --waiting_streams_;
    bytes += waiting->bytes.size();
  }
  uni.state = Uni::Dropped{};
  Drop(bytes);
  actions_.push_back(StopSending{stream, static_cast<uint64_t>(ResetCode::kExcessiveLoad)});
}

void Junction::DropLongWaiting() {
  if (waiting_streams_ == 0) {
    return;
  }
  for (auto each = unis_.begin(); each != unis_.end();) {
    const auto* const waiting = std::get_if<Uni::Waiting>(&each->second.state);
    if (waiting == nullptr || waiting->since + options_.limits.track_patience > now_) {
      ++each;
      continue;
    }
    const bool fin = waiting->fin;
    Refuse(each->first, each->second, 0);
    each = fin ? unis_.erase(each) : std::next(each);
  }
}

void Junction::AddAlias(uint64_t alias, size_t part) {
  aliases_[alias] = {part, true};
  if (waiting_streams_ == 0) {
    return;
  }
  std::vector<StreamId> streams;
  for (const auto& [stream, uni] : unis_) {
    const auto* const waiting = std::get_if<Uni::Waiting>(&uni.state);
    if (waiting != nullptr && waiting->alias == alias) {
      streams.push_back(stream);
    }
  }
  std::ranges::sort(streams);
  for (const StreamId stream : streams) {
    Uni& uni = unis_.at(stream);
    const Uni::Waiting waiting = std::move(std::get<Uni::Waiting>(uni.state));
    waiting_bytes_ -= waiting.bytes.size();
    --waiting_streams_;
    Hand(stream, uni, part, AsBytes(waiting.bytes), waiting.fin);
    if (waiting.fin) {
      unis_.erase(stream);
    }
  }
}

void Junction::RetireAlias(uint64_t alias) {
  aliases_[alias].live = false;
  retired_.push_back(alias);
  while (retired_.size() > kAliasesKept) {
    const auto oldest = aliases_.find(retired_.front());
    if (oldest != aliases_.end() && !oldest->second.live) {
      aliases_.erase(oldest);
    }
    retired_.pop_front();
  }
}

}  // namespace kvcast::moqt
