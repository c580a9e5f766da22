#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/moqt/codec.h"
#include "kvcast/moqt/frame.h"
#include "kvcast/moqt/session.h"
#include "kvcast/moqt/transport.h"
#include "kvcast/object/location.h"
#include "kvcast/object/track_name.h"

namespace kvcast::sim {

// Stands between a session and its connection, and knows from what passes which fetches of the
// session's are under way, and what of each has yet to come. It changes nothing.
class FetchTap final : public moqt::TransportUser {
 public:
  struct Fetch {
    TrackName track;
    LocationRange range;
    moqt::GroupOrder order = moqt::GroupOrder::kAscending;
    moqt::FetchPrior passed{};  // All up to here has come, or was said not to.

    bool IsToCome(Location at) const { return range.Contains(at) && passed.IsBefore(at, order); }
  };

  // The session must outlive it.
  explicit FetchTap(moqt::Session& session) : session_(&session) {}

  // What the session wants to be done is seen now, and not when the connection asks.
  void Look();
  // Those that began since the last call, and all that are under way.
  std::vector<uint64_t> TakeBegun() { return std::exchange(begun_, {}); }
  const std::map<uint64_t, Fetch>& fetches() const { return fetches_; }
  // The code of a close that was an accusation, if there was one.
  std::optional<uint64_t> accused() const { return accused_; }

  void OnTime(Instant now) override { session_->OnTime(now); }
  bool MayOpenMore() const override { return session_->MayOpenMore(); }
  void OnStreamsUsedUp() override { session_->OnStreamsUsedUp(); }
  void OnStreamData(moqt::StreamId stream, std::span<const std::byte> bytes, bool fin) override;
  void OnStreamReset(moqt::StreamId stream, uint64_t code) override;
  void OnStopSending(moqt::StreamId stream, uint64_t code) override {
    session_->OnStopSending(stream, code);
  }
  void OnBytesSent(moqt::StreamId stream, uint64_t bytes) override {
    session_->OnBytesSent(stream, bytes);
  }
  void OnDelivered(moqt::StreamId stream) override { session_->OnDelivered(stream); }
  void OnDatagramsGone(uint64_t request, uint64_t count) override {
    session_->OnDatagramsGone(request, count);
  }
  void OnDatagram(std::span<const std::byte> bytes) override { session_->OnDatagram(bytes); }
  void OnStreamsAllowed(uint64_t bidi_total) override { session_->OnStreamsAllowed(bidi_total); }
  void OnConnectionClosed(uint64_t code, std::string_view reason) override;
  std::optional<moqt::TransportAction> NextAction() override;

 private:
  // A one-way stream of the peer's, as far as it is read.
  struct Data {
    moqt::OpeningReader opening{moqt::DefaultCodec()};
    bool opened = false;
    std::optional<uint64_t> request;  // Of a fetch.
    std::unique_ptr<moqt::FetchReader> reader;
  };

  void See(const moqt::TransportAction& action);
  void Read(Data& data, std::span<const std::byte> bytes);

  moqt::Session* session_;
  const moqt::Limits limits_{};  // Of what reads along.
  std::deque<moqt::TransportAction> actions_;
  std::map<moqt::StreamId, std::string> asked_;          // Two-way streams, until they are read.
  std::map<moqt::StreamId, uint64_t> asking_;            // Those of fetches.
  std::map<moqt::StreamId, moqt::FrameReader> answers_;  // To them.
  std::map<moqt::StreamId, Data> data_;
  std::map<uint64_t, Fetch> fetches_;
  std::vector<uint64_t> begun_;
  std::optional<uint64_t> accused_;
};

}  // namespace kvcast::sim
