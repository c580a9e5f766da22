#include "kvcast/host/cache_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "kvcast/codec/coded_object.h"
#include "kvcast/engine/model_ladder.h"
#include "kvcast/host/cache_blocks.h"
#include "kvcast/host/coding_flags.h"
#include "kvcast/host/kv_file_fit.h"
#include "kvcast/host/model_text.h"
#include "kvcast/host/prompt_file.h"
#include "kvcast/io/clock.h"

namespace kvcast {
namespace {

constexpr Duration kConnectPatience = std::chrono::seconds(15);
constexpr uint32_t kTimeoutMax = 86'400;

// Says what is wrong; empty if nothing is.
std::string TimeoutProblem(const std::string& text) {
  uint32_t seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, seconds);
  return error == std::errc() && read == end && seconds > 0 && seconds <= kTimeoutMax
             ? ""
             : "'" + text + "' is not a number of seconds from 1 to 86400.";
}

// Indexes count a block's bytes in 32 bits: a larger one would be published and never found.
Result<void> CheckBlockBytes(const BlockShape& shape, ValueType values) {
  const uint64_t token_bytes =
      CodedObject::kHeaderBytes + uint64_t{shape.values_per_token()} * ValueBytes(values);
  const uint64_t tokens_max = UINT32_MAX / token_bytes;
  if (shape.tokens() <= tokens_max) {
    return {};
  }
  return Error(
      ErrorCode::kTooLarge,
      fmt::format("A block of {} tokens has 4 GiB of KV or more, which no node can list: {}.",
                  shape.tokens(),
                  tokens_max == 0 ? "a single token has"
                                  : fmt::format("say --block-tokens {} or fewer", tokens_max)));
}

}  // namespace

void CacheFlags::AddTo(CLI::App& command, CacheFlags& flags, const std::string& rungs,
                       const std::string& generation, Nodes nodes) {
  (nodes == Nodes::kOne ? NodeFlags::AddTo : NodeFlags::AddSeveralTo)(command, flags.node)
      ->required();
  ModelFlags::AddTo(command, flags.model)->required();
  InputFlags::AddTo(command, flags.inputs);
  TenantFlags::AddTo(command, flags.tenant);
  command.add_option("--rung", flags.rungs, rungs)->type_name("NAME")->check(RungProblem);
  SliceFlags::AddTo(command, flags.slice, generation);
  command
      .add_option("--calibration", flags.calibration,
                  "The model's calibration, from 'kvcast calibrate', which FP8, FP4, AC and KTC "
                  "need (default: model.kvcal in the model's folder, if it is there)")
      ->type_name("FILE");
  command.add_option("--timeout", flags.timeout_s, "Give up after so many seconds")
      ->type_name("N")
      ->check(TimeoutProblem)
      ->capture_default_str();
  command.add_flag("--json", flags.json, "Print what was done as JSON");
}

Result<CacheTask> CacheTask::Prepare(const CacheFlags& flags) {
  KVCAST_TRY(std::vector<NodeAddress> addresses, flags.node.Addresses());
  KVCAST_TRY(std::vector<Token> tokens, ReadPromptFile(flags.prompt));
  KVCAST_TRY(const NamingKey key, flags.tenant.Key());
  KVCAST_TRY_VOID(flags.model.CheckName());
  KVCAST_TRY(ModelFolder model, flags.model.Load());
  KVCAST_TRY(BlockNamer namer, flags.tenant.NamerFor(model, key));
  KVCAST_TRY(const ModelScope scope, flags.tenant.ScopeOf(model));
  KVCAST_TRY(const ValueType values, ValuesOf(model.description.kv_dtype));
  KVCAST_TRY(const HalfType halves, HalvesOf(values));
  KVCAST_TRY(Ladder ladder, LadderOfModel(flags.model.folder, flags.calibration, halves));
  std::vector<Rung> rungs;
  for (const std::string& name : flags.rungs) {
    KVCAST_TRY(rungs.emplace_back(), BuiltRungOf(name));
  }
  const uint32_t block_tokens = model.description.block_tokens;
  KVCAST_TRY(PrefixChain chain, PrefixChain::Of(namer, tokens, block_tokens, flags.inputs.inputs));
  if (chain.blocks().empty()) {
    return Error(ErrorCode::kInvalid,
                 fmt::format("The prompt has {} tokens, and a block {}: there is no whole block "
                             "that could be shared.",
                             tokens.size(), block_tokens))
        .In(flags.prompt);
  }
  const Slice slice = flags.slice.ToSlice();
  KVCAST_TRY(BlockShape shape, BlockShape(model.description.groups, block_tokens).Sliced(slice));
  KVCAST_TRY_VOID(CheckBlockBytes(shape, values));
  return CacheTask{
      std::move(model),
      CacheKind(scope, rungs.empty() ? ladder.LoadedByDefault().front() : rungs[0], slice),
      std::move(ladder),
      std::move(rungs),
      values,
      std::move(shape),
      slice,
      flags.slice.ToGeneration(),
      std::move(tokens),
      std::move(chain),
      std::move(addresses),
      Now() + std::chrono::seconds(flags.timeout_s)};
}

Result<std::unique_ptr<NodeConnection>> CacheTask::Connect() const {
  return NodeConnection::Open(addresses, kind, std::min(kConnectPatience, deadline - Now()),
                              ladder);
}

void CacheTask::Print(const CacheFlags& flags) const {
  const size_t blocks = chain.blocks().size();
  fmt::print("model    {}\n", kind.scope().Field());
  fmt::print("node     {}\n", node());
  if (!slice.IsWhole()) {
    fmt::print("slice    {}\n", slice.Suffix().substr(1));
  }
  fmt::print("prompt   {}: {} tokens, {} whole block{} of {}\n", flags.prompt, Grouped(tokens()),
             blocks, blocks == 1 ? "" : "s", shape.tokens());
}

}  // namespace kvcast
