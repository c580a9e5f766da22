#include "sim/lossy_link.h"

#include <algorithm>
#include <utility>

#include "kvcast/base/check.h"
#include "sim/fault_chance.h"

namespace kvcast::sim {

using moqt::IsUni;
using moqt::OpenerOf;
using moqt::Role;

LinkFaults LinkFaults::Draw(Random& random) {
  LinkFaults faults;
  faults.lose = FaultChance(random, 0.3);
  faults.repeat = FaultChance(random, 0.2);
  faults.packet_bytes_max = 1 + random.Below(random.Happens(0.3) ? 20 : 1500);
  faults.packets_max = 1 + random.Below(40);
  faults.stream_window = 64 + random.Below(random.Happens(0.5) ? 2000 : 60000);
  faults.connection_window = 512 + random.Below(random.Happens(0.5) ? 4000 : 200000);
  // Not both: streams of a request that may not be made yet would keep others from being opened,
  // for as long as their receiver has patience, and here no time passes.
  if (random.Happens(0.5)) {
    faults.requests_window = 1 + random.Below(random.Happens(0.3) ? 4 : 60);
  } else {
    faults.streams_window = 2 + random.Below(random.Happens(0.3) ? 4 : 60);
  }
  return faults;
}

LossyLink::LossyLink(uint64_t seed, const LinkFaults& faults, moqt::TransportUser& client,
                     moqt::TransportUser& server)
    : faults_(faults), random_(seed) {
  ways_[0].from = ways_[1].to = &client;
  ways_[0].to = ways_[1].from = &server;
  for (Way& way : ways_) {
    way.limit = way.granted = faults.connection_window;
    way.requests = way.requests_granted = faults.requests_window;
    way.streams = way.streams_granted = faults.streams_window;
    way.from->OnStreamsAllowed(way.requests);
  }
}

LossyLink::Out& LossyLink::OutOf(Way& way, StreamId stream) {
  const auto [found, is_new] = way.out.try_emplace(stream);
  if (is_new) {
    found->second.limit = faults_.stream_window;
  }
  return found->second;
}

LossyLink::In& LossyLink::InOf(Way& way, StreamId stream) {
  const auto [found, is_new] = way.in.try_emplace(stream);
  if (is_new) {
    way.streams_there += IsUni(stream) ? 1u : 0u;
    found->second.limit = faults_.stream_window;
  }
  return found->second;
}

bool LossyLink::Owns(const Way& way, StreamId stream) const {
  return OpenerOf(stream) == (&way == &ways_[0] ? Role::kClient : Role::kServer);
}

bool LossyLink::MaySend(const Way& way, StreamId stream, const Out& out) const {
  if (out.reset || out.fin_sent) {
    return false;
  }
  if (!IsUni(stream) && Owns(way, stream) && stream / 4 >= way.requests) {
    return false;  // Not opened yet.
  }
  if (IsUni(stream) && !out.opened && way.streams_opened >= way.streams) {
    return false;
  }
  const bool bytes = !out.queue.empty() && out.sent < out.limit && way.sent < way.limit;
  return bytes || (out.fin && out.queue.empty());
}

bool LossyLink::Step() {
  for (Way& way : ways_) {
    TakeActions(way);
  }
  if (closed_) {
    return false;
  }
  for (Way& way : ways_) {
    GrantStreams(way);
  }
  struct Choice {
    Way* way;
    std::optional<StreamId> stream;  // To make a packet of; otherwise one arrives.
  };
  std::vector<Choice> choices;
  for (Way& way : ways_) {
    if (way.under_way.size() < faults_.packets_max) {
      for (const auto& [id, out] : way.out) {
        if (MaySend(way, id, out)) {
          choices.push_back({&way, id});
        }
      }
    }
    if (!way.under_way.empty() && !way.blocked) {
      choices.push_back({&way, std::nullopt});
    }
  }
  if (choices.empty()) {
    return false;
  }
  const Choice choice = choices[random_.Below(choices.size())];
  if (choice.stream) {
    MakePacket(*choice.way, *choice.stream);
  } else {
    Arrive(*choice.way, faults_.in_order ? 0 : random_.Below(choice.way->under_way.size()));
  }
  return true;
}

void LossyLink::Calm() {
  const auto busy = [this] {
    for (Way& way : ways_) {
      TakeActions(way);
    }
    return !closed_ && !(ways_[0].under_way.empty() && ways_[1].under_way.empty());
  };
  while (busy()) {
    Way& way = ways_[ways_[0].under_way.empty() ? 1 : 0];
    Arrive(way, random_.Below(way.under_way.size()));
  }
}

void LossyLink::StopFaults() {
  faults_.lose = 0;
  faults_.repeat = 0;
}

void LossyLink::Block(moqt::Role to, bool blocked) {
  ways_[to == Role::kServer ? 0 : 1].blocked = blocked;
}

void LossyLink::Break() {
  if (!std::exchange(closed_, true)) {
    ways_[0].from->OnConnectionClosed(0, "broken");
    ways_[1].from->OnConnectionClosed(0, "broken");
  }
}

void LossyLink::TakeActions(Way& way) {
  while (const std::optional<moqt::TransportAction> action = way.from->NextAction()) {
    if (!closed_) {
      Take(way, *action);
    }
  }
}

void LossyLink::Take(Way& way, const moqt::TransportAction& action) {
  if (const auto* send = std::get_if<moqt::SendBytes>(&action)) {
    Out& out = OutOf(way, send->stream);
    KVCAST_CHECK(!out.fin && !out.reset);  // No bytes after the end of a stream.
    out.queue += send->bytes.ToString();
    out.fin = send->fin;
  } else if (const auto* reset = std::get_if<moqt::ResetStream>(&action)) {
    Out& out = OutOf(way, reset->stream);
    KVCAST_CHECK(!std::exchange(out.reset, true));
    out.queue.clear();
    if (!IsUni(reset->stream) || out.opened) {
      Put(way, Reset{reset->stream, reset->code, out.sent});
    }
  } else if (const auto* stop = std::get_if<moqt::StopSending>(&action)) {
    Put(way, Stop{stop->stream, stop->code});
  } else if (const auto* credit = std::get_if<moqt::StreamCredit>(&action)) {
    In& in = InOf(Back(way), credit->stream);
    in.limit += credit->bytes;
    KVCAST_CHECK(in.limit <= in.next + faults_.stream_window);  // Never for what did not come.
    Put(way, StreamMax{credit->stream, in.limit});
  } else if (const auto* all = std::get_if<moqt::ConnectionCredit>(&action)) {
    Way& back = Back(way);
    back.granted += all->bytes;
    Put(way, ConnectionMax{back.granted});
  } else if (const auto* datagram = std::get_if<moqt::SendDatagram>(&action)) {
    Put(way, Datagram{datagram->bytes.ToString()});
    way.from->OnDatagramsGone(datagram->order.request, 1);
  } else if (const auto* close = std::get_if<moqt::CloseConnection>(&action)) {
    closed_ = true;
    way.to->OnConnectionClosed(close->code, close->reason);
  }
}

void LossyLink::MakePacket(Way& way, StreamId stream) {
  Out& out = way.out[stream];
  way.streams_opened += IsUni(stream) && !out.opened ? 1u : 0u;
  out.opened = true;
  const size_t length = static_cast<size_t>(
      std::min<uint64_t>({out.queue.size(), 1 + random_.Below(faults_.packet_bytes_max),
                          out.limit - out.sent, way.limit - way.sent}));
  Data data{stream, out.sent, out.queue.substr(0, length), false};
  out.queue.erase(0, length);
  out.sent += length;
  way.sent += length;
  data.fin = out.fin_sent = out.fin && out.queue.empty();
  Put(way, std::move(data));
  if (length > 0) {
    way.from->OnBytesSent(stream, length);
  }
}

void LossyLink::Arrive(Way& way, size_t which) {
  const bool datagram = std::holds_alternative<Datagram>(way.under_way[which].second);
  if (random_.Happens(faults_.lose)) {
    ++counts_.lost;
    if (datagram) {
      way.under_way.erase(way.under_way.begin() + static_cast<ptrdiff_t>(which));
    }
    return;
  }
  counts_.delivered += 1;
  counts_.overtaken += which > 0 ? 1 : 0;
  const Packet packet = way.under_way[which].second;
  if (!datagram && random_.Happens(faults_.repeat)) {
    ++counts_.repeated;
  } else {
    way.under_way.erase(way.under_way.begin() + static_cast<ptrdiff_t>(which));
  }
  std::visit([&](const auto& any) { On(way, any); }, packet);
}

void LossyLink::On(Way& way, const Data& data) {
  In& in = InOf(way, data.stream);
  if (in.over) {
    return;
  }
  in.pieces.try_emplace(data.offset, data.bytes);
  if (data.fin) {
    in.size = data.offset + data.bytes.size();
  }
  HandOver(way, data.stream, in);
}

// What is next in line, in one go or in two.
void LossyLink::HandOver(Way& way, StreamId stream, In& in) {
  std::string bytes;
  uint64_t next = in.next;
  for (auto piece = in.pieces.begin(); piece != in.pieces.end() && piece->first <= next;
       piece = in.pieces.erase(piece)) {
    const uint64_t end = piece->first + piece->second.size();
    if (end > next) {
      bytes += piece->second.substr(next - piece->first);
      next = end;
    }
  }
  const bool fin = in.size == next;
  if (bytes.empty() && !fin) {
    return;
  }
  in.next = next;
  in.over = fin;
  const size_t cut = bytes.empty() ? 0 : static_cast<size_t>(random_.Below(bytes.size()));
  if (cut > 0) {
    way.to->OnStreamData(stream, AsBytes(std::string_view(bytes).substr(0, cut)), false);
  }
  way.to->OnStreamData(stream, AsBytes(std::string_view(bytes).substr(cut)), fin);
  if (fin && IsUni(stream)) {
    OnUniOver(way);
    Put(Back(way), Arrived{stream});
  } else if (fin) {
    OnHalfOver(stream);
  }
}

void LossyLink::On(Way& way, const Reset& reset) {
  In& in = InOf(way, reset.stream);
  if (std::exchange(in.over, true)) {
    return;
  }
  // QUIC itself gives back what was sent of the stream and never handed over.
  way.granted += reset.size - in.next;
  Put(Back(way), ConnectionMax{way.granted});
  way.to->OnStreamReset(reset.stream, reset.code);
  if (IsUni(reset.stream)) {
    OnUniOver(way);
  } else {
    OnHalfOver(reset.stream);
  }
}

void LossyLink::On(Way& way, const Stop& stop) {
  const Out& out = OutOf(Back(way), stop.stream);
  if (!out.reset) {
    way.to->OnStopSending(stop.stream, stop.code);
  }
}

void LossyLink::On(Way& way, const StreamMax& max) {
  uint64_t& limit = OutOf(Back(way), max.stream).limit;
  limit = std::max(limit, max.limit);
}

void LossyLink::On(Way& way, const ConnectionMax& max) {
  uint64_t& limit = Back(way).limit;
  limit = std::max(limit, max.limit);
}

void LossyLink::On(Way& way, const RequestsMax& max) {
  Way& back = Back(way);
  if (max.total > back.requests) {
    back.requests = max.total;
    way.to->OnStreamsAllowed(max.total);
  }
}

void LossyLink::On(Way& way, const StreamsMax& max) {
  uint64_t& streams = Back(way).streams;
  streams = std::max(streams, max.total);
}

void LossyLink::OnUniOver(Way& way) {
  --way.streams_there;
  ++way.streams_over;
}

void LossyLink::GrantStreams(Way& way) {
  const bool may_open = way.to->MayOpenMore();
  if (may_open && way.streams_over > 0) {
    way.streams_granted += std::exchange(way.streams_over, 0);
    Put(Back(way), StreamsMax{way.streams_granted});
  }
  const bool used_up = !may_open && way.streams_there + way.streams_over >= faults_.streams_window;
  counts_.used_up += used_up && !way.used_up ? 1u : 0u;
  way.used_up = used_up;
  if (used_up) {
    way.to->OnStreamsUsedUp();
  }
}

void LossyLink::On(Way& way, const Datagram& datagram) {
  way.to->OnDatagram(AsBytes(datagram.bytes));
}

void LossyLink::On(Way& way, const Arrived& arrived) {
  Out& out = OutOf(Back(way), arrived.stream);
  if (!out.reset && !std::exchange(out.delivered, true)) {
    way.to->OnDelivered(arrived.stream);
  }
}

void LossyLink::OnHalfOver(StreamId stream) {
  Way& opener = ways_[OpenerOf(stream) == Role::kClient ? 0 : 1];
  if (++opener.halves_over[stream] == 2) {
    Put(Back(opener), RequestsMax{++opener.requests_granted});
  }
}

}  // namespace kvcast::sim
