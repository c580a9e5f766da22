// Whatever a node answers to a fetch: blocks that count as done are the right ones, and no token is
// anything but right or untouched.
#include <algorithm>
#include <string>
#include <vector>

#include "kvcast/base/check.h"
#include "kvcast/client/engine_memory_test.h"
#include "kvcast/client/local_executor.h"
#include "kvcast/client/run_decoder.h"

namespace {

using kvcast::Bytes;
using kvcast::EngineMemory;
using kvcast::kTestBlockTokens;

constexpr size_t kBlocks = 3;

// What the fuzzer decides, a byte at a time; zeros when it has no more to say.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : rest_(data, size) {}
  uint8_t Next() {
    const uint8_t next = rest_.empty() ? 0 : rest_.front();
    rest_ = rest_.subspan(rest_.empty() ? 0 : 1);
    return next;
  }
  bool done() const { return rest_.empty(); }

 private:
  std::span<const uint8_t> rest_;
};

Bytes Damaged(const Bytes& payload, Choices& choices) {
  std::string text = payload.ToString();
  switch (choices.Next() % 3) {
    case 0: {
      char& spoilt = text[choices.Next() % text.size()];
      spoilt = static_cast<char>(spoilt ^ (choices.Next() | 1));
      break;
    }
    case 1:
      text.resize(choices.Next() % text.size());
      break;
    default:
      text += static_cast<char>(choices.Next());
      break;
  }
  return Bytes::Of(text);
}

// A prompt's pages and its tokens as they travel. Made once: they never change, and took most of
// the time of every run.
struct Prompt {
  explicit Prompt(uint8_t seed) : memory(kBlocks, seed) {
    const std::shared_ptr<const kvcast::Codec> codec =
        kvcast::Codec::Plain(kvcast::Rung::kBf16, kvcast::TestShape());
    for (size_t block = 0; block < kBlocks; ++block) {
      for (uint32_t token = 0; token < kTestBlockTokens; ++token) {
        payloads.push_back(codec->Encode(memory.Pages().Block(block), token));
        tokens.push_back(memory.Token(block, token));
      }
    }
  }
  size_t At(size_t block, uint32_t token) const { return block * kTestBlockTokens + token; }

  EngineMemory memory;
  std::vector<Bytes> payloads;
  std::vector<std::string> tokens;
};

void TakeDone(kvcast::CountedJobs<kvcast::DecodeJob>& jobs, kvcast::RunDecoder& decoder) {
  while (const std::unique_ptr<kvcast::DecodeJob> job = jobs.TakeDone()) {
    decoder.OnDone(*job);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<kvcast::BlockHash> blocks = kvcast::TestBlocks(kBlocks);
  static const std::vector<kvcast::BlockHash> others = kvcast::TestBlocks(kBlocks, 1);
  static const Prompt source(1);
  static const Prompt elsewhere(3);  // Another one.
  static const Prompt untouched(2);
  const EngineMemory target(kBlocks, 2);
  const kvcast::PromptPages pages = target.Pages();
  const std::shared_ptr<const kvcast::Codec> codec =
      kvcast::Codec::Plain(kvcast::Rung::kBf16, kvcast::TestShape());
  const kvcast::LoadRun run{
      kvcast::TestKind().TrackOf(blocks[0], {}).Name(), kvcast::Rung::kBf16, 0, 0, kBlocks, 0};
  // Longer inputs only repeat themselves, and take longer. Jobs are done in an order that the
  // fuzzer decides as well.
  Choices choices(data, std::min<size_t>(size, 256));
  kvcast::LocalExecutor executor(choices.Next());
  kvcast::WorkLimits work;
  work.job_objects_max = 1 + choices.Next() % 4u;
  kvcast::CountedJobs<kvcast::DecodeJob> jobs(executor.Open());
  kvcast::RunDecoder decoder(run, blocks, pages, jobs, work);
  decoder.Begin(codec);

  kvcast::Location next;
  bool foreign = false;
  while (!choices.done() && !decoder.broken()) {
    const uint8_t what = choices.Next();
    if (what % 16 == 15) {
      decoder.OnRangeEnd({next.group, choices.Next()});
      continue;
    }
    kvcast::Object object;
    object.location =
        what % 16 == 14 ? kvcast::Location{choices.Next() % kBlocks, choices.Next() % 6u} : next;
    const size_t group = std::min<size_t>(object.location.group, kBlocks - 1);
    const auto token = static_cast<uint32_t>(object.location.object % kTestBlockTokens);
    if (object.location.object == 0) {
      foreign = what % 16 == 13;
      object.properties = kvcast::BlockHashProperties(foreign ? others[group] : blocks[group]);
    }
    // A payload stands for its key and place: tokens swapped under a right key are not noticed.
    const Prompt& from = foreign ? elsewhere : source;
    object.payload = from.payloads[from.At(group, token)];
    if (what % 16 == 12) {
      object.payload = Damaged(object.payload, choices);
    }
    decoder.OnObject(object);
    next = {object.location.group, object.location.object + 1};
    if (next.object == kTestBlockTokens) {
      next = {next.group + 1, 0};
    }
    if (what % 2 == 0) {
      executor.Step();
    }
    TakeDone(jobs, decoder);
  }
  while (executor.Step()) {
  }
  TakeDone(jobs, decoder);
  KVCAST_CHECK(!decoder.busy());
  for (size_t block = 0; block < kBlocks; ++block) {
    for (uint32_t token = 0; token < kTestBlockTokens; ++token) {
      const std::string now = target.Token(block, token);
      const size_t at = source.At(block, token);
      KVCAST_CHECK(now == source.tokens[at] ||
                   (block >= decoder.blocks_done() && now == untouched.tokens[at]));
    }
  }
  return 0;
}
