#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kvcast/moqt/byte_peer_test.h"
#include "kvcast/moqt/draft_judge_test.h"

namespace kvcast::moqt {

// A place where one message may come next.
struct Scene {
  std::string name;
  draft::Use use;
  // Brings the session there, and says on which stream the message comes.
  std::function<StreamId(BytePeer&)> prepare;
  // What the receiver then knows.
  draft::Facts facts;
  // The next request of the peer's.
  uint64_t next_id = 0;
};

// All of them: every message in every use, as a server and as a client receive it.
std::vector<Scene> Scenes(bool at_server);

// Messages that are as they should be, to come before others.
namespace draft {
std::string PublishOf(uint64_t id, std::string_view name, uint64_t alias);
std::string SubscribeOf(uint64_t id, std::string_view name);
std::string FetchOf(uint64_t id);
}  // namespace draft

}  // namespace kvcast::moqt
