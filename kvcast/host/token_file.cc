#include "kvcast/host/token_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "kvcast/base/hex.h"
#include "kvcast/base/json.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/file.h"

namespace kvcast {
namespace {

constexpr size_t kTokenFileBytesMax = 16 * 1024 * 1024;
constexpr size_t kTokenNameBytesMax = 64;
constexpr size_t kTokenRandomBytes = 32;
constexpr std::string_view kTokenStart = "kvcast_";

bool IsTokenName(std::string_view name) {
  return !name.empty() && name.size() <= kTokenNameBytesMax &&
         std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f; });
}

Error WrongLine(const std::string& what) { return Error(ErrorCode::kMalformed, what); }

Result<std::string> TextOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) {
    return WrongLine(std::string("It has no \"") + key + "\", or that is no text.");
  }
  return found->get<std::string>();
}

Result<std::vector<std::string>> WordsOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) {
    return WrongLine(std::string("It has no \"") + key + "\", or that is no list.");
  }
  std::vector<std::string> words;
  for (const Json& word : *found) {
    if (!word.is_string()) {
      return WrongLine(std::string("In \"") + key + "\" stands something that is no text.");
    }
    words.push_back(word.get<std::string>());
  }
  return words;
}

Result<relay::Grant> GrantIn(const Json& object) {
  KVCAST_TRY(const std::vector<std::string> tenants, WordsOf(object, "tenants"));
  KVCAST_TRY(const std::vector<std::string> may, WordsOf(object, "may"));
  KVCAST_TRY(relay::Grant grant, relay::Grant::Of(tenants, may));
  if (object.contains("expires")) {
    KVCAST_TRY(const std::string expires, TextOf(object, "expires"));
    KVCAST_TRY(grant.until_us, ParseTimeOfDay(expires));
  }
  return grant;
}

Result<void> CheckKeys(const Json& object, const std::vector<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(known, key) == known.end()) {
      return WrongLine("It has \"" + Printable(key) + "\", which nothing is known by.");
    }
  }
  return {};
}

Result<void> TakeLine(std::string_view line, TokenFile& file) {
  KVCAST_TRY(const Json object, ParseJson(line));
  if (!object.is_object()) {
    return WrongLine("A line is an object: {\"token\": ...}.");
  }
  if (object.contains("token")) {
    KVCAST_TRY_VOID(CheckKeys(object, {"token", "sha256", "tenants", "may", "expires"}));
    KVCAST_TRY(const std::string name, TextOf(object, "token"));
    if (!IsTokenName(name)) {
      return WrongLine("A token's name is 1 to 64 printable characters without spaces.");
    }
    KVCAST_TRY(const std::string hex, TextOf(object, "sha256"));
    KVCAST_TRY(const Digest digest, Digest::FromHex(hex));
    KVCAST_TRY(relay::Grant grant, GrantIn(object));
    if (file.tokens.Find(digest) != nullptr) {
      return WrongLine("This token stands there twice.");
    }
    file.tokens.Add(digest, {name, std::move(grant)});
    return {};
  }
  KVCAST_TRY_VOID(CheckKeys(object, {"certificate", "tenants", "may", "expires"}));
  KVCAST_TRY(const std::string holder, TextOf(object, "certificate"));
  KVCAST_TRY(relay::Grant grant, GrantIn(object));
  const Result<Digest> fingerprint = Digest::FromHex(holder);
  const bool is_new =
      fingerprint.ok()
          ? file.certificates.by_fingerprint
                .emplace(*fingerprint, relay::TokenTable::Entry{holder, grant})
                .second
          : file.certificates.by_subject.emplace(holder, relay::TokenTable::Entry{holder, grant})
                .second;
  return is_new ? Result<void>() : WrongLine("This certificate stands there twice.");
}

}  // namespace

Result<TokenFile> TokenFile::Parse(std::string_view text) {
  TokenFile file;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos || line[first] == '#') {
      continue;
    }
    if (Result<void> taken = TakeLine(line, file); !taken.ok()) {
      return std::move(taken).error().In("line " + std::to_string(number));
    }
  }
  return file;
}

Result<TokenFile> TokenFile::Read(const std::filesystem::path& path) {
  KVCAST_TRY(const std::string text, ReadFile(path, kTokenFileBytesMax));
  Result<TokenFile> file = Parse(text);
  return file.ok() ? std::move(file) : Result<TokenFile>(std::move(file).error().In(path.string()));
}

Result<NewToken> MakeToken(const std::string& name, const relay::Grant& grant) {
  if (!IsTokenName(name)) {
    return Error(ErrorCode::kInvalid,
                 "A token's name is 1 to 64 printable characters without spaces.");
  }
  std::array<std::byte, kTokenRandomBytes> random{};
  FillRandom(random);
  NewToken made;
  made.token = std::string(kTokenStart) + ToHex(random);
  constexpr std::array<std::pair<relay::Grant::Permission, const char*>, 4> kWords{{
      {relay::Grant::kPublish, "publish"},
      {relay::Grant::kRead, "read"},
      {relay::Grant::kRelay, "relay"},
      {relay::Grant::kForget, "forget"},
  }};
  nlohmann::ordered_json line;
  line["token"] = name;
  line["sha256"] = Sha256::Of(made.token).ToHex();
  line["tenants"] = std::vector<std::string>(grant.tenants.begin(), grant.tenants.end());
  line["may"] = nlohmann::ordered_json::array();
  for (const auto& [permission, word] : kWords) {
    if ((grant.may & permission) != 0) {
      line["may"].push_back(word);
    }
  }
  if (grant.until_us) {
    const WallTime until{std::chrono::seconds(*grant.until_us / 1'000'000)};
    line["expires"] = ToIso8601(until).substr(0, 19) + "Z";
  }
  made.line = line.dump() + "\n";
  return made;
}

Result<std::string> ReadToken(const std::filesystem::path& path) {
  KVCAST_TRY(std::string token, ReadFile(path, relay::TokenTable::kTokenBytesMax + 2));
  token.erase(token.find_last_not_of(" \t\r\n") + 1);
  // Nothing of what is there goes into a message: it is, or was meant to be, a secret.
  if (token.empty() || token.size() > relay::TokenTable::kTokenBytesMax ||
      !std::ranges::all_of(token, [](char c) { return c > ' ' && c < 0x7f; })) {
    return Error(ErrorCode::kMalformed,
                 "A file with a token has one line, of up to 4,096 printable characters.")
        .In(path.string());
  }
  return token;
}

Result<Duration> ParseTerm(std::string_view text) {
  uint64_t count = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const std::array<std::pair<std::string_view, std::chrono::seconds>, 4> units{{
      {"s", std::chrono::seconds(1)},
      {"min", std::chrono::minutes(1)},
      {"h", std::chrono::hours(1)},
      {"d", std::chrono::hours(24)},
  }};
  const auto found = std::ranges::find(units, unit, [](const auto& each) { return each.first; });
  constexpr uint64_t kSecondsMax = uint64_t{100} * 366 * 86'400;
  if (failed != std::errc() || found == units.end() || count == 0 ||
      count > kSecondsMax / static_cast<uint64_t>(found->second.count())) {
    return Error(ErrorCode::kInvalid, "\"" + Printable(text) +
                                          "\" is no time to come: 30d, 12h, 90min and 45s are, up "
                                          "to a hundred years.");
  }
  return Duration(found->second) * static_cast<int64_t>(count);
}

Result<uint64_t> ParseTimeOfDay(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  const Error wrong(ErrorCode::kInvalid,
                    "\"" + Printable(text) + "\" is no time: 2031-05-04T03:02:01Z is, in UTC.");
  if (text.size() != kForm.size()) {
    return wrong;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == 'd' ? !digit : text[i] != kForm[i]) {
      return wrong;
    }
  }
  const auto number = [&](size_t at, size_t digits) {
    unsigned value = 0;
    std::from_chars(text.data() + at, text.data() + at + digits, value);
    return value;
  };
  const std::chrono::year_month_day day{std::chrono::year(static_cast<int>(number(0, 4))),
                                        std::chrono::month(number(5, 2)),
                                        std::chrono::day(number(8, 2))};
  if (!day.ok() || number(0, 4) < 1970 || number(11, 2) > 23 || number(14, 2) > 59 ||
      number(17, 2) > 60) {
    return wrong;
  }
  const auto since = std::chrono::sys_days(day).time_since_epoch() +
                     std::chrono::hours(number(11, 2)) + std::chrono::minutes(number(14, 2)) +
                     std::chrono::seconds(number(17, 2));
  return static_cast<uint64_t>(std::chrono::microseconds(since).count());
}

}  // namespace kvcast
