#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kvcast/catalog/block_key.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/quic_client.h"
#include "kvcast/moqt/session.h"

namespace kvcast {

inline std::string PayloadAt(Location at, size_t bytes) {
  return std::string(bytes, static_cast<char>('a' + (at.group * 7 + at.object) % 26));
}

// A bare session on a connection to the node.
class BareClient {
 public:
  BareClient(EventLoop& loop, const SocketAddress& node, const Digest& fingerprint)
      : quic_(*QuicClient::Connect(loop, {node, "localhost"},
                                   *ClientCredentials::Make(PinnedCertificate{fingerprint}), {},
                                   [this](QuicConnection&) { return MakeSession(); })) {}

  moqt::Session* operator->() { return session_; }
  // After commands.
  void Poke() { quic_->connection().Poke(); }
  QuicClient& quic() { return *quic_; }

  // The first event of a kind that has not been given out before.
  template <typename T>
  std::optional<T> Next() {
    while (std::optional<moqt::Event> event = session_->NextEvent()) {
      events_.push_back(*std::move(event));
    }
    for (auto event = events_.begin(); event != events_.end(); ++event) {
      if (T* found = std::get_if<T>(&*event)) {
        T taken = std::move(*found);
        events_.erase(event);
        return taken;
      }
    }
    return std::nullopt;
  }

  void PublishAll(const TrackName& track, uint64_t groups, uint64_t objects, size_t bytes,
                  const Properties& properties = {}) {
    const moqt::RequestId request = *session_->Publish(track, {}, properties);
    for (uint64_t group = 0; group < groups; ++group) {
      moqt::SubgroupHeader header;
      header.group = group;
      header.properties = true;
      header.end_of_group = true;
      header.first_object = true;
      const moqt::StreamId stream = *session_->OpenSubgroup(request, header);
      for (uint64_t i = 0; i < objects; ++i) {
        Object object;
        object.location = {group, i};
        object.payload = Bytes::Of(PayloadAt(object.location, bytes));
        if (i == 0) {
          object.properties = BlockKeyProperties(Sha256::Of(std::to_string(group)));
        }
        ASSERT_TRUE(session_->SendObject(request, stream, object).ok());
      }
      ASSERT_TRUE(session_->EndSubgroup(request, stream).ok());
    }
    ASSERT_TRUE(session_->EndTrack(request, moqt::DoneCode::kTrackEnded, "").ok());
    Poke();
  }

 private:
  std::unique_ptr<moqt::TransportUser> MakeSession() {
    moqt::Setup setup;
    setup.path = "/";
    setup.authority = "localhost";
    auto session =
        std::make_unique<moqt::Session>(moqt::Role::kClient, setup, moqt::Limits(), Now());
    session_ = session.get();
    return session;
  }

  moqt::Session* session_ = nullptr;
  std::vector<moqt::Event> events_;
  std::unique_ptr<QuicClient> quic_;
};

}  // namespace kvcast
