#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "kvcast/base/json.h"
#include "kvcast/host/admin_secret.h"
#include "kvcast/host/command.h"
#include "kvcast/host/command_store.h"
#include "kvcast/host/forget_flags.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/node_state.h"
#include "kvcast/host/token_file.h"
#include "kvcast/io/clock.h"
#include "kvcast/io/http_call.h"
#include "kvcast/io/human_units.h"

namespace kvcast {
namespace {

constexpr Duration kCallPatience = std::chrono::seconds(60);
constexpr Duration kAskAgain = std::chrono::milliseconds(200);

struct NodeForgetOptions {
  ForgetFlags what;
  std::string state;
  std::string admin;
  std::string token_file;
  double within_s = 60;
  bool dry_run = false;
  bool json = false;
};

// Where the node's admin port is, and what lets us in.
Result<AdminSecret> WhereTo(const NodeForgetOptions& options) {
  AdminSecret secret;
  if (options.admin.empty() || options.token_file.empty()) {
    Result<std::filesystem::path> state = options.state.empty()
                                              ? NodeState::DefaultDirectory()
                                              : std::filesystem::path(options.state);
    KVCAST_TRY(const std::filesystem::path directory, std::move(state));
    Result<AdminSecret> read = AdminSecret::Read(directory);
    if (!read.ok() && read.error().code() == ErrorCode::kNotFound) {
      return Error(ErrorCode::kNotFound,
                   "No node with an admin port has its state in " + directory.string() +
                       ". Name the directory by --state-dir; or the port by --admin and a token "
                       "that may forget by --token-file.");
    }
    KVCAST_TRY(secret, std::move(read));
  }
  if (!options.admin.empty()) {
    secret.address = options.admin;
  }
  if (!options.token_file.empty()) {
    KVCAST_TRY(secret.token, ReadToken(options.token_file));
  }
  return secret;
}

Result<Json> AskToForget(const AdminSecret& secret, const Json& order) {
  KVCAST_TRY(const SocketAddress address, SocketAddress::Resolve(secret.address));
  // A token is for who listens here, and nobody on the way.
  if (!address.is_loopback()) {
    return Error(ErrorCode::kInvalid,
                 secret.address + " is another machine's. A node's admin port is on its own.");
  }
  KVCAST_TRY(const HttpAnswer answer,
             CallHttp(address, {"POST", "/forget", secret.token, order.dump()}, kCallPatience));
  const Result<Json> said = ParseJson(answer.body);
  if (answer.status != 200 || !said.ok() || !said->is_object()) {
    const bool told = said.ok() && said->is_object() && said->contains("error");
    return Error(ErrorCode::kInvalid,
                 "The node refuses (" + std::to_string(answer.status) +
                     "): " + (told ? (*said)["error"].get<std::string>() : answer.body));
  }
  return said;
}

std::string ForgotText(const Json& told, const std::string& tenant) {
  const auto number = [&](const char* key) { return told[key].get<uint64_t>(); };
  std::string text = fmt::format(
      "{} {} of tenant {}: {}, {}, {}\n", told["dry_run"].get<bool>() ? "would forget" : "forgot",
      Counted(number("tracks"), "track"), tenant, Counted(number("blocks"), "block"),
      Counted(number("objects"), "object"), HumanBytes(number("bytes")));
  if (number("upstreams") > 0) {
    text +=
        "This node asks others for what is not here: what they have comes back when somebody wants "
        "it. Forget it there, too.\n";
  }
  return text;
}

Result<void> RunNodeForget(const NodeForgetOptions& options) {
  KVCAST_TRY(const relay::ForgetScope scope, options.what.Scope());
  KVCAST_TRY(const AdminSecret secret, WhereTo(options));
  Json order = {{"tenant", scope.tenant}};
  if (scope.model) {
    order["model"] = *scope.model;
  }
  if (scope.prefix) {
    order["prefix"] = scope.prefix->ToHex();
  }
  if (options.dry_run) {
    order["dry_run"] = true;
  }
  KVCAST_TRY(Json told, AskToForget(secret, order));
  const Instant until =
      Now() + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(options.within_s));
  order["again"] = true;
  while (!options.dry_run && !told["complete"].get<bool>() && Now() < until) {
    std::this_thread::sleep_for(kAskAgain);
    KVCAST_TRY(const Json more, AskToForget(secret, order));
    for (const char* key : {"tracks", "blocks", "objects", "bytes"}) {
      told[key] = told[key].get<uint64_t>() + more[key].get<uint64_t>();
    }
    for (const char* key : {"pending", "refused", "complete"}) {
      told[key] = more[key];
    }
  }
  fmt::print("{}", options.json ? JsonText(told) : ForgotText(told, scope.tenant));
  if (!options.dry_run && !told["complete"].get<bool>()) {
    return Error(ErrorCode::kMachine,
                 "Nobody gets it any more, but a directory or a bucket has not written that down: "
                 "a restart might bring some of it back. Look at the node's log, and do it again.");
  }
  return {};
}

}  // namespace

void AddForgetCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "forget",
      "Have a running node forget a tenant's caches, or those of one model or prefix\n\n"
      "They go from memory, directories and buckets of the node on this machine, and from its "
      "catalogs, and stay away until they are published anew, after a restart, too. Relays that "
      "have the node as an upstream drop them when they hear of it, those that are away now when "
      "they are back.\n\n"
      "A prefix is named by the hash of its last block, as 'kvcast name' prints it: the tracks "
      "that were published as that prefix go, and that block wherever else it is.\n\n"
      "The node is found, and lets this in, by files in the directory of its state, which its "
      "owner can read. Others show a token that may forget for the tenant ('kvcast token new "
      "--may forget').");
  command->group(kNodeCommands);
  command->footer(
      "kvcast forget --tenant acme --dry-run\n"
      "kvcast forget --tenant acme --model llama-3\n"
      "kvcast forget --tenant acme --admin 127.0.0.1:4480 --token-file admin.token --json");
  const auto options = std::make_shared<NodeForgetOptions>();
  options->what.AddTo(*command);
  command->add_flag("--dry-run", options->dry_run, "Only say what would go");
  command->add_option("--state-dir", options->state, "Where the node has its state")
      ->type_name("DIR")
      ->default_str("as kvcast serve");
  command->add_option("--admin", options->admin, "The node's admin port")
      ->type_name("HOST:PORT")
      ->default_str("as the node's state says");
  command
      ->add_option("--token-file", options->token_file,
                   "A file with a token that may forget, in place of the node's own")
      ->type_name("FILE");
  command
      ->add_option("--within", options->within_s,
                   "How long to wait until directories and buckets have written it down")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, 86400.0))
      ->default_str("60");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, exit_status] {
    const Result<void> result = RunNodeForget(*options);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace kvcast
