#include "sim/road_world.h"

#include <algorithm>
#include <utility>

#include "sim/fault_chance.h"

namespace kvcast::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kEngines = 3;
constexpr Duration kLoadDeadline = seconds(2);
constexpr Duration kPublishPatience = seconds(3);
// Longer than any publication takes, however often its patience begins anew.
constexpr Duration kPublishMax = seconds(50);
// More than a world ever holds, and less: then the node evicts.
constexpr size_t kRamPlenty = 16 << 20;
constexpr size_t kRamLittle = 64 << 10;

moqt::Setup ClientSetup() {
  moqt::Setup setup;
  setup.path = "/";
  setup.authority = "node.example";
  return setup;
}

}  // namespace

void RoadWorldCounts::Add(const RoadWorldCounts& more) {
  published += more.published;
  skipped += more.skipped;
  loaded += more.loaded;
  again += more.again;
  broken += more.broken;
  restarts += more.restarts;
  stalls += more.stalls;
  cancels += more.cancels;
  given_up += more.given_up;
  lies += more.lies;
  followed += more.followed;
  live += more.live;
  small_nodes += more.small_nodes;
  jobs += more.jobs;
  withdrawn += more.withdrawn;
}

RoadFaults RoadFaults::Draw(Random& random) {
  const auto chance = [&](double most) { return FaultChance(random, most); };
  return {.break_connection = chance(0.01),
          .restart_node = chance(0.003),
          .stall = chance(0.02),
          .cancel = chance(0.02),
          .give_up = chance(0.1),
          .lie = chance(0.3)};
}

RoadWorld::RoadWorld(uint64_t seed)
    : random_(seed),
      faults_(RoadFaults::Draw(random_)),
      now_(Instant() + std::chrono::hours(1)),
      ram_bytes_(random_.Happens(0.3) ? kRamLittle : kRamPlenty) {
  counts_.small_nodes = ram_bytes_ == kRamLittle ? 1 : 0;
  for (uint64_t number = 0; number < kEngines; ++number) {
    seats_.emplace_back(RoadEngine(number, random_));
  }
  StartNode();
}

RoadWorld::~RoadWorld() {
  for (Seat& seat : seats_) {
    Disconnect(seat);
  }
}

void RoadWorld::Note(const std::string& event) {
  Sha256 hash;
  hash.Update(history_.bytes);
  hash.Update(event);
  history_ = hash.Finish();
}

void RoadWorld::Violate(const std::string& what) {
  if (violation_.empty()) {
    violation_ = what;
  }
}

Generation RoadWorld::NewGeneration(uint64_t engine) {
  Generation generation{};
  random_.Fill(generation);
  publishers_[generation] = engine;
  return generation;
}

void RoadWorld::StartNode() {
  relay::Relay::Options options;
  options.ram_bytes = ram_bytes_;
  options.node = kNode;
  options.boot[0] = static_cast<std::byte>(++boots_);
  options.boot[1] = static_cast<std::byte>(boots_ >> 8);
  options.limits.epoch_bytes_min = 256;
  relay_ = std::make_unique<relay::Relay>(options, metrics_);
}

void RoadWorld::Connect(Seat& seat) {
  moqt::MemoryConnection::Options options;
  options.seed = random_.Next();
  options.cut_max = size_t{1} << random_.Below(14);
  options.stream_window = uint64_t{512} << random_.Below(8);
  options.connection_window = uint64_t{4096} << random_.Below(8);
  moqt::Limits limits;
  limits.stream_queue_bytes = 1024;
  limits.session_queue_bytes = 16 * 1024;
  limits.send_queue_high_bytes = 2048;
  limits.send_queue_low_bytes = 512;
  seat.session = std::make_unique<moqt::Session>(moqt::Role::kClient, ClientSetup(), limits, now_);
  seat.served = std::make_unique<moqt::Session>(moqt::Role::kServer, NodeSetup(), limits, now_);
  seat.connection = std::make_unique<moqt::MemoryConnection>(options, *seat.session, *seat.served);
  ClientOptions client{prompts_.kind()};
  client.publish_patience = kPublishPatience;
  seat.executor = std::make_unique<LocalExecutor>(random_.Next());
  client.executor = seat.executor.get();
  client.work.job_objects_max = 1 + random_.Below(5);
  client.work.decoding_bytes_max = 1 + random_.Below(512);
  client.work.encoded_bytes_max = 1 + random_.Below(512);
  seat.client.emplace(*seat.session, client);
  seat.peer = relay_->Join(*seat.served);
  seat.stalled_until = Instant();
}

void RoadWorld::Disconnect(Seat& seat) {
  if (!seat.connection) {
    return;
  }
  seat.connection->Break();
  seat.client->OnInput(now_);
  TakeEvents(seat);
  if (seat.operation) {
    Violate("An operation outlived its connection.");
    seat.operation.reset();
  }
  relay_->OnInput(seat.peer, now_);
  relay_->Leave(seat.peer);
  seat.client.reset();
  if (seat.executor->waiting() > 0) {
    Violate("Codec work outlived its client.");
  }
  counts_.jobs += seat.executor->run();
  counts_.withdrawn += seat.executor->withdrawn();
  seat.executor.reset();
  seat.connection.reset();
  seat.session.reset();
  seat.served.reset();
}

void RoadWorld::Restart() {
  Note("restart");
  ++counts_.restarts;
  for (Seat& seat : seats_) {
    Disconnect(seat);
  }
  StartNode();
}

// The last one names the track, so that whoever follows the prompt comes to it.
std::vector<BlockHash> RoadWorld::Said(size_t prompt) {
  std::vector<BlockHash> blocks = prompts_.blocks(prompt);
  const std::vector<BlockHash>& other = prompts_.blocks(random_.Below(RoadPrompts::kPrompts));
  const size_t most = std::min(blocks.size() - 1, other.size());
  if (most > 0 && random_.Happens(faults_.lie)) {
    const size_t block = random_.Below(most);
    counts_.lies += blocks[block] == other[block] ? 0u : 1u;
    blocks[block] = other[block];
  }
  return blocks;
}

void RoadWorld::StartPublish(Seat& seat, size_t prompt) {
  const std::vector<BlockHash> blocks = Said(prompt);
  seat.engine.Compute(blocks);
  const Result<OperationId> id = seat.client->Publish(blocks, seat.engine.Pages(blocks.size()),
                                                      {NewGeneration(seat.engine.number())}, now_);
  if (!id.ok()) {
    return Violate("A publication was not taken: " + id.error().ToString());
  }
  seat.operation = Operation{*id, prompt, false, {}, {}, now_ + kPublishMax, {}, blocks};
  TakeEvents(seat);
}

void RoadWorld::StartPrefill(Seat& seat, size_t prompt) {
  const std::vector<BlockHash> blocks = Said(prompt);
  seat.engine.Scribble(random_);  // So that whoever reads too early is found out.
  Client::PublishTerms terms{NewGeneration(seat.engine.number())};
  terms.ready = 0;
  const Result<OperationId> id =
      seat.client->Publish(blocks, seat.engine.Pages(blocks.size()), terms, now_);
  if (!id.ok()) {
    return Violate("A publication was not taken: " + id.error().ToString());
  }
  seat.operation = Operation{*id, prompt, false, {}, {}, now_ + kPublishMax, 0, blocks};
  TakeEvents(seat);
}

void RoadWorld::Prefill(Seat& seat) {
  size_t& computed = *seat.operation->computed;
  const OperationId id = seat.operation->id;
  const std::vector<BlockHash> blocks = seat.operation->blocks;
  seat.operation->latest = now_ + kPublishMax;
  if (computed < blocks.size() && random_.Happens(faults_.give_up)) {
    ++counts_.given_up;
    seat.operation->computed.reset();
    seat.client->Close(id, now_);
  } else {
    seat.engine.ComputeBlock(blocks, computed);
    const size_t ready = ++computed;
    if (ready == blocks.size()) {
      seat.operation->computed.reset();
    }
    seat.client->Ready(id, ready, now_);
  }
  TakeEvents(seat);
}

void RoadWorld::StartLoad(Seat& seat, size_t prompt, const std::optional<FollowTerms>& follow) {
  const std::vector<BlockHash>& blocks = prompts_.blocks(prompt);
  CacheMatch match = seat.client->Find(blocks, random_.Below(2));
  if (match.empty() && !follow) {
    return;
  }
  const LoadTerms terms{now_ + kLoadDeadline, {}, follow};
  seat.engine.Scribble(random_);
  Operation operation{0, prompt, true, match, {}, now_ + kLoadDeadline};
  if (follow) {
    ++counts_.followed;
    operation.end_block = blocks.size();
  }
  for (size_t block = 0; block < RoadPrompts::kBlocksMax; ++block) {
    operation.before.push_back(seat.engine.Read(block));
  }
  const Result<OperationId> id =
      seat.client->Load(std::move(match), blocks, seat.engine.Pages(blocks.size()), terms, now_);
  if (!id.ok()) {
    return Violate("A load was not taken: " + id.error().ToString());
  }
  operation.id = *id;
  seat.operation = std::move(operation);
  TakeEvents(seat);
}

bool RoadWorld::Step(Seat& seat) {
  if (!seat.connection || seat.stalled_until > now_ || !seat.connection->Step()) {
    return false;
  }
  seat.client->OnInput(now_);
  relay_->OnInput(seat.peer, now_);
  TakeEvents(seat);
  return true;
}

bool RoadWorld::Work(Seat& seat) {
  if (!seat.connection || !seat.executor->Step()) {
    return false;
  }
  seat.client->OnInput(now_);
  relay_->OnInput(seat.peer, now_);
  TakeEvents(seat);
  return true;
}

void RoadWorld::OnTimeouts() {
  if (relay_->deadline() && *relay_->deadline() <= now_) {
    relay_->OnTimeout(now_);
  }
  for (Seat& seat : seats_) {
    if (!seat.connection) {
      continue;
    }
    if (seat.client->deadline() && *seat.client->deadline() <= now_) {
      seat.client->OnTimeout(now_);
      TakeEvents(seat);
    }
    seat.session->OnTimeout(now_);
    seat.served->OnTimeout(now_);
    if (seat.operation && seat.operation->latest < now_) {
      Violate("An operation did not end in time.");
    }
  }
}

void RoadWorld::Hurt(Seat& seat) {
  if (random_.Happens(faults_.restart_node)) {
    Restart();
  }
  if (!seat.connection) {
    return;
  }
  if (random_.Happens(faults_.stall)) {
    ++counts_.stalls;
    seat.stalled_until = now_ + milliseconds(random_.Below(4000));
  }
  if (seat.operation && random_.Happens(faults_.cancel)) {
    ++counts_.cancels;
    seat.client->Cancel(seat.operation->id, now_);
    TakeEvents(seat);
    if (seat.operation) {
      Violate("A cancelled operation went on.");
    }
  }
  if (random_.Happens(faults_.break_connection)) {
    Note("break");
    ++counts_.broken;
    Disconnect(seat);
  }
}

void RoadWorld::DoSomething() {
  now_ += microseconds(random_.Below(3000));
  Seat& seat = seats_[random_.Below(seats_.size())];
  Hurt(seat);
  if (!seat.connection) {
    Connect(seat);
  } else if (!seat.operation && random_.Happens(0.1)) {
    const size_t prompt = random_.Below(RoadPrompts::kPrompts);
    const bool live = random_.Happens(0.4);
    if (random_.Happens(0.5)) {
      live ? StartPrefill(seat, prompt) : StartPublish(seat, prompt);
    } else {
      const FollowTerms follow{milliseconds(random_.Below(1000)), random_.Below(8),
                               milliseconds(random_.Below(1000))};
      StartLoad(seat, prompt, live ? std::optional(follow) : std::nullopt);
    }
  } else if (seat.operation && seat.operation->computed && random_.Happens(0.3)) {
    Prefill(seat);
  }
  for (uint64_t i = random_.Below(12); i > 0; --i) {
    Seat& moved = seats_[random_.Below(seats_.size())];
    random_.Happens(0.3) ? Work(moved) : Step(moved);
  }
  OnTimeouts();
  CheckBounds();
}

void RoadWorld::CheckBounds() {
  if (relay_->stored_bytes() > ram_bytes_) {
    Violate("The node holds more than it may.");
  }
}

std::optional<Instant> RoadWorld::NextDeadline() {
  std::optional<Instant> next = relay_->deadline();
  const auto consider = [&](std::optional<Instant> other) {
    if (other && (!next || *other < *next)) {
      next = other;
    }
  };
  for (Seat& seat : seats_) {
    if (seat.connection) {
      consider(seat.client->deadline());
      consider(seat.session->deadline());
      consider(seat.served->deadline());
    }
  }
  return next;
}

void RoadWorld::Settle() {
  while (violation_.empty()) {
    bool moved = false;
    for (Seat& seat : seats_) {
      moved = Step(seat) || moved;
      moved = Work(seat) || moved;
    }
    for (Seat& seat : seats_) {
      if (seat.operation && seat.operation->computed) {
        Prefill(seat);
        moved = true;
      }
    }
    if (moved) {
      continue;
    }
    const std::optional<Instant> next = NextDeadline();
    if (!next) {
      break;
    }
    now_ = std::max(now_, *next);
    OnTimeouts();
    CheckBounds();
  }
  if (std::ranges::any_of(seats_, [](const Seat& seat) { return seat.operation.has_value(); })) {
    Violate("An operation waits for nothing.");
  }
}

void RoadWorld::PublishAndLoadAll() {
  for (size_t prompt = 0; prompt < RoadPrompts::kPrompts && violation_.empty(); ++prompt) {
    Seat& publisher = seats_[prompt % kEngines];
    StartPublish(publisher, prompt);
    Settle();
    for (Seat& seat : seats_) {
      const uint64_t loaded = counts_.loaded;
      StartLoad(seat, prompt);
      const size_t wanted = seat.operation ? seat.operation->match.block_count() : 0;
      const size_t found = seat.operation ? seat.operation->match.end_block() : 0;
      Settle();
      if (ram_bytes_ == kRamPlenty && found != prompts_.blocks(prompt).size() &&
          prompts_.blocks(prompt).size() > 1) {
        Violate("A published prompt is not found.");
      }
      // Nobody publishes now, so the node keeps what its catalog lists, however little that is.
      if (counts_.loaded - loaded != wanted) {
        Violate("What the catalog lists is not loaded whole.");
      }
    }
  }
}

void RoadWorld::FollowAll() {
  for (size_t prompt = 0; prompt < RoadPrompts::kPrompts && violation_.empty(); ++prompt) {
    Restart();  // Who holds everything publishes nothing.
    for (Seat& seat : seats_) {
      Connect(seat);
    }
    Settle();
    const uint64_t loaded = counts_.loaded;
    uint64_t wanted = 0;
    for (size_t i = 1; i < kEngines; ++i) {
      Seat& seat = seats_[(prompt + i) % kEngines];
      StartLoad(seat, prompt, FollowTerms{kLoadDeadline, SIZE_MAX, kLoadDeadline});
      if (seat.operation) {
        wanted += *seat.operation->end_block - seat.operation->match.first_block();
      }
    }
    StartPrefill(seats_[prompt % kEngines], prompt);
    Settle();
    if (ram_bytes_ == kRamPlenty && counts_.loaded - loaded != wanted) {
      Violate("Who followed a publication does not have all of it.");
    }
  }
}

std::string RoadWorld::Play(size_t steps) {
  for (size_t step = 0; step < steps && violation_.empty(); ++step) {
    DoSomething();
  }
  faults_ = RoadFaults();
  for (Seat& seat : seats_) {
    seat.stalled_until = Instant();
    if (!seat.connection) {
      Connect(seat);
    }
  }
  Settle();
  PublishAndLoadAll();
  FollowAll();
  return violation_;
}

}  // namespace kvcast::sim
