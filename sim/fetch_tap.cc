#include "sim/fetch_tap.h"

#include <algorithm>
#include <utility>

namespace kvcast::sim {

using moqt::IsUni;

void FetchTap::Look() {
  while (std::optional<moqt::TransportAction> action = session_->NextAction()) {
    See(*action);
    actions_.push_back(*std::move(action));
  }
}

std::optional<moqt::TransportAction> FetchTap::NextAction() {
  Look();
  if (actions_.empty()) {
    return std::nullopt;
  }
  moqt::TransportAction action = std::move(actions_.front());
  actions_.pop_front();
  return action;
}

void FetchTap::See(const moqt::TransportAction& action) {
  if (const auto* send = std::get_if<moqt::SendBytes>(&action)) {
    if (IsUni(send->stream) || moqt::OpenerOf(send->stream) != moqt::Role::kClient ||
        asking_.contains(send->stream)) {
      return;
    }
    std::string& begun = asked_[send->stream];
    begun += send->bytes.ToString();
    const std::optional<size_t> length = moqt::DefaultCodec().MessageBytes(begun);
    if (!length || begun.size() < *length) {
      return;
    }
    const auto message = moqt::DefaultCodec().Decode(begun.substr(0, *length), {});
    const auto* fetch = message.ok() ? std::get_if<moqt::Fetch>(&*message) : nullptr;
    if (fetch != nullptr && fetch->type == moqt::Fetch::Type::kStandalone) {
      fetches_.emplace(fetch->request_id, Fetch{fetch->track, fetch->range, fetch->order()});
      begun_.push_back(fetch->request_id);
      asking_[send->stream] = fetch->request_id;
      answers_.emplace(send->stream, moqt::FrameReader(moqt::DefaultCodec()));
    }
  } else if (const auto* reset = std::get_if<moqt::ResetStream>(&action)) {
    if (const auto asking = asking_.find(reset->stream); asking != asking_.end()) {
      fetches_.erase(asking->second);
    }
  } else if (const auto* stop = std::get_if<moqt::StopSending>(&action)) {
    if (const auto asking = asking_.find(stop->stream); asking != asking_.end()) {
      fetches_.erase(asking->second);
    }
    if (const auto data = data_.find(stop->stream); data != data_.end() && data->second.request) {
      fetches_.erase(*data->second.request);
    }
  } else if (const auto* close = std::get_if<moqt::CloseConnection>(&action)) {
    if (close->code != 0) {
      accused_ = close->code;
    }
  }
}

void FetchTap::OnStreamData(moqt::StreamId stream, std::span<const std::byte> bytes, bool fin) {
  if (IsUni(stream)) {
    Data& data = data_[stream];
    Read(data, bytes);
    if (fin && data.request) {
      fetches_.erase(*data.request);
    }
  } else if (const auto answer = answers_.find(stream); answer != answers_.end()) {
    std::span<const std::byte> in = bytes;
    while (const std::optional<std::string> whole = answer->second.Read(in)) {
      const auto message = moqt::DefaultCodec().Decode(
          *whole, {.sender = moqt::Role::kServer, .request = moqt::MessageKind::kFetch});
      const auto fetch = fetches_.find(asking_.at(stream));
      if (!message.ok() || fetch == fetches_.end()) {
        continue;
      }
      if (const auto* ok = std::get_if<moqt::FetchOk>(&*message)) {
        fetch->second.range.last = std::min(fetch->second.range.last, ok->last);
      } else if (std::holds_alternative<moqt::RequestError>(*message)) {
        fetches_.erase(fetch);
      }
    }
  }
  session_->OnStreamData(stream, bytes, fin);
}

void FetchTap::Read(Data& data, std::span<const std::byte> bytes) {
  if (!data.opened) {
    const auto opening = data.opening.Read(bytes);
    if (!opening.ok() || !*opening) {
      return;
    }
    data.opened = true;
    if (const auto* fetch = std::get_if<moqt::FetchOpening>(&**opening)) {
      data.request = fetch->request_id;
      const auto known = fetches_.find(fetch->request_id);
      data.reader = moqt::DefaultCodec().ReadFetch(
          known == fetches_.end() ? moqt::GroupOrder::kAscending : known->second.order, limits_);
    }
  }
  while (data.reader != nullptr && !bytes.empty()) {
    const auto item = data.reader->Read(bytes);
    if (!item.ok() || !*item) {
      return;
    }
    const auto* end = std::get_if<moqt::RangeEnd>(&**item);
    if (const auto fetch = fetches_.find(*data.request); fetch != fetches_.end()) {
      fetch->second.passed.location =
          end != nullptr ? end->last : std::get<Object>(**item).location;
    }
  }
}

void FetchTap::OnStreamReset(moqt::StreamId stream, uint64_t code) {
  if (const auto data = data_.find(stream); data != data_.end() && data->second.request) {
    fetches_.erase(*data->second.request);
  }
  if (const auto asking = asking_.find(stream); asking != asking_.end()) {
    fetches_.erase(asking->second);
  }
  session_->OnStreamReset(stream, code);
}

void FetchTap::OnConnectionClosed(uint64_t code, std::string_view reason) {
  if (code != 0) {
    accused_ = code;
  }
  fetches_.clear();
  session_->OnConnectionClosed(code, reason);
}

}  // namespace kvcast::sim
