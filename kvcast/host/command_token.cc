#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kvcast/base/json.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/token_file.h"
#include "kvcast/io/file.h"

namespace kvcast {
namespace {

constexpr size_t kTokensFileBytesMax = 16 * 1024 * 1024;

struct TokenOptions {
  std::string name;
  std::vector<std::string> tenants;
  std::vector<std::string> may{"publish", "read"};
  std::string expires;
  std::string tokens;
  std::string out;
  bool json = false;
};

// The file with one more line: it is there with it, or as it was.
Result<void> AddLine(const std::string& path, const std::string& line) {
  std::string text;
  Result<std::string> old = ReadFile(path, kTokensFileBytesMax);
  if (old.ok()) {
    text = *std::move(old);
    if (Result<TokenFile> read = TokenFile::Parse(text); !read.ok()) {
      return std::move(read).error().In(path);
    }
  } else if (old.error().code() != ErrorCode::kNotFound) {
    return std::move(old).error();
  }
  if (!text.empty() && text.back() != '\n') {
    text += '\n';
  }
  return WriteFileAtomically(path, AsBytes(text + line), 0644);
}

void PrintToken(const TokenOptions& options, const NewToken& made) {
  if (options.out.empty()) {
    fmt::print(
        "token  {}\n       It is shown this once. Clients take it from a file: "
        "--token-file FILE.\n",
        made.token);
  } else {
    fmt::print("token  in {}, for its owner alone. Clients take it by --token-file {}.\n",
               options.out, options.out);
  }
  if (options.tokens.empty()) {
    fmt::print("line   for the node's file, kvcast serve --tokens FILE:\n{}", made.line);
  } else {
    fmt::print(
        "line   added to {}. A node that runs with it takes it at SIGHUP, or when it is started "
        "anew.\n",
        options.tokens);
  }
}

// What was written to a file is not shown here either.
Json JsonOf(const TokenOptions& options, const NewToken& made) {
  const auto where = [](const std::string& file) { return file.empty() ? Json() : Json(file); };
  return {{"token", options.out.empty() ? Json(made.token) : Json()},
          {"token_file", where(options.out)},
          {"line", made.line.substr(0, made.line.find('\n'))},
          {"tokens_file", where(options.tokens)}};
}

Result<void> RunTokenNew(const TokenOptions& options) {
  KVCAST_TRY(relay::Grant grant, relay::Grant::Of(options.tenants, options.may));
  if (!options.expires.empty()) {
    KVCAST_TRY(const Duration term, ParseTerm(options.expires));
    const auto until = std::chrono::floor<std::chrono::seconds>(WallNow() + term);
    grant.until_us =
        static_cast<uint64_t>(std::chrono::microseconds(until.time_since_epoch()).count());
  }
  const std::string name = options.name.empty() ? options.tenants.front() : options.name;
  KVCAST_TRY(const NewToken made, MakeToken(name, grant));
  // The token first: a line for one that nobody has is of no use, and does no harm.
  if (!options.out.empty()) {
    KVCAST_TRY_VOID(WriteFileAtomically(options.out, AsBytes(made.token + "\n"), 0600));
  }
  if (!options.tokens.empty()) {
    KVCAST_TRY_VOID(AddLine(options.tokens, made.line));
  }
  if (options.json) {
    fmt::print("{}", JsonText(JsonOf(options, made)));
  } else {
    PrintToken(options, made);
  }
  return {};
}

void AddTokenNew(CLI::App& token, int* exit_status) {
  const auto options = std::make_shared<TokenOptions>();
  CLI::App* const part = token.add_subcommand(
      "new",
      "Make a token, and the line that makes a node take it\n\n"
      "The line has the token's SHA-256 and never the token: whoever reads the node's file can "
      "use none of them.");
  part->group("Commands");
  part->footer(
      "kvcast token new --tenant acme\n"
      "kvcast token new --tenant acme --may read --expires 30d --tokens tokens.jsonl --out "
      "acme.token\n"
      "kvcast token new --name edge-1 --tenant acme --tenant globex --may relay");
  part->add_option("--tenant", options->tenants,
                   "Whose caches it is for; may be given many times. _all is for every tenant, "
                   "_plain for names that are no tenant's")
      ->type_name("NAME")
      ->required()
      ->expected(1, 1000);
  part->add_option("--may", options->may,
                   "What its holder may do: publish, read, relay, forget; several with commas")
      ->type_name("WORDS")
      ->delimiter(',')
      ->default_str("publish,read");
  part->add_option("--name", options->name, "What its holder is called; limits of a node go by it")
      ->type_name("NAME")
      ->default_str("the tenant");
  part->add_option("--expires", options->expires,
                   "For how long it is good, such as 30d, 12h or 90min; for ever if not given")
      ->type_name("TERM");
  part->add_option("--tokens", options->tokens, "Add the line to this file of a node's")
      ->type_name("FILE");
  part->add_option("--out", options->out,
                   "Write the token to this file, for its owner alone, and show it to nobody")
      ->type_name("FILE");
  part->add_flag("--json", options->json, "Print it as JSON");
  part->callback([options, exit_status] {
    const Result<void> result = RunTokenNew(*options);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
}

}  // namespace

void AddTokenCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "token",
      "Make tokens by which nodes know their clients\n\n"
      "A node that is to be reached from other machines has to know who comes: by certificates "
      "('kvcast cert client') or by tokens. A token is good for the tenants and the work that it "
      "was made for.");
  command->group(kNodeCommands);
  command->footer("kvcast token new --tenant acme --tokens tokens.jsonl --out acme.token");
  command->require_subcommand(1);
  AddTokenNew(*command, exit_status);
}

}  // namespace kvcast
