#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kvcast/base/digest.h"
#include "kvcast/base/metrics.h"
#include "kvcast/base/random.h"
#include "kvcast/base/time.h"
#include "kvcast/catalog/node_greeting.h"
#include "kvcast/client/client.h"
#include "kvcast/client/local_executor.h"
#include "kvcast/moqt/memory_connection.h"
#include "kvcast/moqt/session.h"
#include "kvcast/relay/relay.h"
#include "sim/road_engine.h"

namespace kvcast::sim {

// What goes wrong, each with its own chance per step; a seed draws which of them do.
struct RoadFaults {
  double break_connection = 0;
  double restart_node = 0;  // It forgets everything and starts with a new boot id.
  double stall = 0;         // A connection moves nothing for a while.
  double cancel = 0;
  double give_up = 0;  // A prefill ends before its prompt does.
  double lie = 0;      // A track that is named after a prompt has a block of another one in it.

  static RoadFaults Draw(Random& random);
};

struct RoadWorldCounts {
  uint64_t published = 0;  // Blocks that the node listed.
  uint64_t skipped = 0;    // Blocks it held already.
  uint64_t loaded = 0;
  uint64_t again = 0;  // Blocks that were found and then had to be computed again.
  uint64_t broken = 0;
  uint64_t restarts = 0;
  uint64_t stalls = 0;
  uint64_t cancels = 0;
  uint64_t given_up = 0;
  uint64_t lies = 0;
  uint64_t followed = 0;     // Loads that waited for what is published,
  uint64_t live = 0;         // and blocks that came to them as they were.
  uint64_t small_nodes = 0;  // That had too little memory for all.
  uint64_t jobs = 0;         // Codec work that was done,
  uint64_t withdrawn = 0;    // and that was not, since its operation had ended.

  void Add(const RoadWorldCounts& more);
};

// Engines that publish and load prompts through one node, all of them the real code, over
// connections that stall and break, with a node that restarts. Some publish while they compute,
// some load while others publish, and some publish tracks in which not all is what their names say.
// Codec work is done late and in any order. In it, at every step:
//
//   a block that is said to be loaded holds exactly what the publisher of its track had computed;
//   no page outside the blocks of a load is touched by it;
//   no codec work is left of an operation that has ended, so that no page is touched after it;
//   every operation ends, within its deadline or patience;
//   the node stays within its bytes;
//
// and once the faults stop:
//
//   whatever is published is found and loaded whole by everybody, if the node has room for it;
//   whoever follows a publication has all of it when it ends.
class RoadWorld {
 public:
  explicit RoadWorld(uint64_t seed);
  ~RoadWorld();

  // Plays `steps` with faults, then lets things settle. Returns what was violated, if anything.
  std::string Play(size_t steps);

  const RoadWorldCounts& counts() const { return counts_; }
  // Of everything that happened, in order: equal for equal seeds.
  const Digest& history() const { return history_; }

 private:
  struct Operation {
    OperationId id = 0;
    size_t prompt = 0;
    bool is_load = false;
    CacheMatch match;  // Of a load, as are the pages before it.
    std::vector<std::string> before;
    Instant latest;                     // It has ended by then.
    std::optional<size_t> computed{};   // Of a publication: blocks so far, if not all,
    std::vector<BlockHash> blocks{};    // and what it says that they are.
    std::optional<size_t> end_block{};  // Of a load that follows.
  };
  // An engine and its connection to the node.
  struct Seat {
    explicit Seat(RoadEngine made) : engine(std::move(made)) {}

    RoadEngine engine;
    std::unique_ptr<moqt::Session> session;
    std::unique_ptr<moqt::Session> served;  // The node's end.
    std::unique_ptr<moqt::MemoryConnection> connection;
    std::unique_ptr<LocalExecutor> executor;
    std::optional<Client> client;
    relay::PeerId peer = 0;
    std::optional<Operation> operation;
    Instant stalled_until;
  };

  // Who it is, also when it starts anew, and says so.
  static constexpr NodeId kNode{std::byte{1}};
  static moqt::Setup NodeSetup() {
    moqt::Setup setup;
    setup.implementation = NodeGreeting("kvcast", kNode);
    return setup;
  }

  void StartNode();
  void Connect(Seat& seat);
  void Disconnect(Seat& seat);
  void Restart();
  void DoSomething();
  void Hurt(Seat& seat);
  // What a publisher says that a prompt's blocks are, which may not be true.
  std::vector<BlockHash> Said(size_t prompt);
  void StartPublish(Seat& seat, size_t prompt);
  // The same while the prompt is being computed.
  void StartPrefill(Seat& seat, size_t prompt);
  void Prefill(Seat& seat);
  void StartLoad(Seat& seat, size_t prompt, const std::optional<FollowTerms>& follow = {});

  // One piece of one connection; false if nothing moves.
  bool Step(Seat& seat);
  // A piece of its codec work; false if there is none.
  bool Work(Seat& seat);
  void OnTimeouts();
  // Until nothing moves and nothing is under way, however long that takes.
  void Settle();
  std::optional<Instant> NextDeadline();

  void TakeEvents(Seat& seat);
  void OnPublishEnded(Seat& seat, const PublishReport& report);
  void OnLoadEnded(Seat& seat, const LoadReport& report);
  void CheckWork(const Seat& seat);
  void CheckLoad(const Seat& seat, const LoadReport& report);
  void CheckBounds();
  void PublishAndLoadAll();
  void FollowAll();
  void Note(const std::string& event);
  void Violate(const std::string& what);
  Generation NewGeneration(uint64_t engine);

  const RoadPrompts prompts_;
  Random random_;
  RoadFaults faults_;
  RoadWorldCounts counts_;
  Digest history_;
  Instant now_;
  size_t ram_bytes_;
  uint64_t boots_ = 0;
  Metrics metrics_;
  std::unique_ptr<relay::Relay> relay_;
  std::deque<Seat> seats_;
  std::map<Generation, uint64_t> publishers_;  // Who computed what a generation holds.
  std::string violation_;
};

}  // namespace kvcast::sim
