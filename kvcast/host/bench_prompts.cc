#include "kvcast/host/bench_prompts.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <vector>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

// Lengths of prompts and of what is added to them, in the trace: a bell on a logarithmic scale,
// this wide, and additions a sixth of a prompt.
constexpr double kLengthSpread = 1.1;
constexpr double kTurnLength = 0.17;

using Prompt = std::vector<uint64_t>;

struct Conversation {
  Prompt prompt;
  size_t turns_left = 0;
  size_t last_request = 0;  // Counted from 1; 0: none.
};

class Writer {
 public:
  explicit Writer(const ConversationMix& mix)
      : mix_(mix), random_(mix.seed), open_(mix.conversations) {
    double sum = 0;
    for (size_t k = 1; k <= mix.system_prompts; ++k) {
      system_prompts_.push_back(Fresh(mix.system_blocks));
      sum += std::pow(static_cast<double>(k), -mix.zipf);
      popularity_.push_back(sum);
    }
  }

  Prompt Next() {
    ++request_;
    Conversation& conversation = Rested();
    if (conversation.turns_left > 0) {
      --conversation.turns_left;
      Extend(conversation.prompt, kTurnLength * mix_.prompt_blocks);
    } else {
      conversation.prompt = SystemPrompt();
      Extend(conversation.prompt, mix_.prompt_blocks - static_cast<double>(mix_.system_blocks));
      conversation.turns_left = random_.Happens(mix_.returning) ? Turns() : 0;
    }
    conversation.last_request = request_;
    return conversation.prompt;
  }

  size_t distinct_count() const { return next_block_; }

 private:
  double Uniform() { return static_cast<double>(random_.Next() >> 11) * 0x1p-53; }

  // A bell of width 1, from a dozen dice.
  double Bell() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) {
      sum += Uniform();
    }
    return sum;
  }

  Prompt Fresh(size_t blocks) {
    Prompt fresh(std::min(blocks, mix_.prompt_blocks_max));
    for (uint64_t& block : fresh) {
      block = next_block_++;
    }
    return fresh;
  }

  void Extend(Prompt& prompt, double mean_blocks) {
    const double bell = Bell() * kLengthSpread - kLengthSpread * kLengthSpread / 2;
    const double blocks = std::round(std::max(mean_blocks, 0.0) * std::exp(bell));
    const size_t room = mix_.prompt_blocks_max - prompt.size();
    const Prompt more = Fresh(std::min(room, static_cast<size_t>(std::clamp(blocks, 1.0, 1e6))));
    prompt.insert(prompt.end(), more.begin(), more.end());
  }

  const Prompt& SystemPrompt() {
    const double at = Uniform() * popularity_.back();
    const auto chosen = std::ranges::upper_bound(popularity_, at);
    return system_prompts_[std::min<size_t>(static_cast<size_t>(chosen - popularity_.begin()),
                                            system_prompts_.size() - 1)];
  }

  size_t Turns() {
    size_t turns = 1;
    while (turns < 1000 && random_.Happens(1 - 1 / std::max(mix_.turns, 1.0))) {
      ++turns;
    }
    return turns;
  }

  // Any that has rested; the one that has rested longest if none has long enough.
  Conversation& Rested() {
    std::vector<size_t> rested;
    size_t oldest = 0;
    for (size_t i = 0; i < open_.size(); ++i) {
      if (open_[i].last_request == 0 || open_[i].last_request + mix_.rest < request_) {
        rested.push_back(i);
      }
      oldest = open_[i].last_request < open_[oldest].last_request ? i : oldest;
    }
    return open_[rested.empty() ? oldest : rested[random_.Below(rested.size())]];
  }

  const ConversationMix mix_;
  Random random_;
  uint64_t next_block_ = 0;
  std::vector<Prompt> system_prompts_;
  std::vector<double> popularity_;  // Summed up.
  std::vector<Conversation> open_;
  size_t request_ = 0;
};

}  // namespace

RequestTrace MakeConversations(const ConversationMix& mix) {
  Writer writer(mix);
  RequestTrace trace;
  for (size_t i = 0; i < mix.requests; ++i) {
    trace.block_count += trace.requests.emplace_back(writer.Next()).size();
  }
  trace.distinct_count = writer.distinct_count();
  return trace;
}

RequestTrace CutFiner(const RequestTrace& trace, size_t parts, size_t prompt_blocks_max) {
  RequestTrace finer;
  finer.text_bytes = trace.text_bytes;
  finer.distinct_count = trace.distinct_count * parts;
  for (const Prompt& coarse : trace.requests) {
    Prompt prompt;
    for (size_t i = 0; i < coarse.size() * parts && i < prompt_blocks_max; ++i) {
      prompt.push_back(coarse[i / parts] * parts + i % parts);
    }
    finer.block_count += prompt.size();
    finer.requests.push_back(std::move(prompt));
  }
  return finer;
}

SharingFigures SharingOf(const RequestTrace& trace) {
  SharingFigures figures;
  if (trace.block_count == 0) {
    return figures;
  }
  std::unordered_map<uint64_t, size_t> asked;
  size_t hits = 0;
  for (const Prompt& prompt : trace.requests) {
    bool leading = true;
    for (const uint64_t block : prompt) {
      leading = asked[block]++ > 0 && leading;
      hits += leading ? 1 : 0;
    }
  }
  const auto once =
      std::ranges::count_if(asked, [](const auto& block) { return block.second == 1; });
  figures.prompt_blocks = static_cast<double>(trace.block_count) /
                          static_cast<double>(std::max<size_t>(trace.requests.size(), 1));
  figures.hit_ratio = static_cast<double>(hits) / static_cast<double>(trace.block_count);
  figures.never_again_ratio = static_cast<double>(once) / static_cast<double>(asked.size());
  return figures;
}

}  // namespace kvcast
