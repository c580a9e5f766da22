#include "kvcast/moqt/draft18_setup.h"

#include <algorithm>
#include <limits>

#include "kvcast/base/hex.h"
#include "kvcast/moqt/draft18_parameters.h"

namespace kvcast::moqt::draft18 {
namespace {

enum OptionType : uint64_t {
  kPath = 0x01,
  kAuthorizationToken = 0x03,
  kMaxAuthTokenCacheSize = 0x04,
  kAuthority = 0x05,
  kImplementation = 0x07,
};

constexpr size_t kOptionBytesMax = 65535;

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-._~").find(c) != std::string_view::npos;
}

// Characters that a URI's part may have by RFC 3986: unreserved ones, sub-delimiters, `more`, and
// percent signs before two hex digits.
bool IsUriText(std::string_view text, std::string_view more) {
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size() || HexDigitValue(text[i + 1]) < 0 ||
          HexDigitValue(text[i + 2]) < 0) {
        return false;
      }
      i += 2;
    } else if (!IsUnreserved(c) &&
               std::string_view("!$&'()*+,;=").find(c) == std::string_view::npos &&
               more.find(c) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

bool IsPath(std::string_view path) {
  const bool begins_well = path.empty() || path.front() == '/' || path.front() == '?';
  return begins_well && IsUriText(path, ":@/?");
}

bool IsHexText(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return HexDigitValue(c) >= 0; });
}

bool IsIpv4(std::string_view text) {
  for (int left = 4; left > 0; --left) {
    const size_t dot = text.find('.');
    const std::string_view number = text.substr(0, dot);
    if (number.empty() || number.size() > 3 || (number.size() > 1 && number.front() == '0') ||
        number.find_first_not_of("0123456789") != std::string_view::npos ||
        (number.size() == 3 && number > "255") || (dot == std::string_view::npos) != (left == 1)) {
      return false;
    }
    text.remove_prefix(left > 1 ? dot + 1 : 0);
  }
  return true;
}

// How many 16-bit pieces of an IPv6 address these are; absent if they are none.
std::optional<size_t> Ipv6Pieces(std::string_view text, bool may_end_in_ipv4) {
  size_t pieces = 0;
  for (size_t colon = 0; !text.empty() && colon != std::string_view::npos;) {
    colon = text.find(':');
    const std::string_view piece = text.substr(0, colon);
    if (colon == std::string_view::npos && may_end_in_ipv4 && IsIpv4(piece)) {
      return pieces + 2;
    }
    if (piece.size() > 4 || !IsHexText(piece) || colon + 1 == text.size()) {
      return std::nullopt;
    }
    ++pieces;
    text.remove_prefix(colon == std::string_view::npos ? 0 : colon + 1);
  }
  return pieces;
}

bool IsIpv6(std::string_view text) {
  const size_t gap = text.find("::");
  if (gap == std::string_view::npos) {
    return Ipv6Pieces(text, true) == 8u;
  }
  const std::optional<size_t> head = Ipv6Pieces(text.substr(0, gap), false);
  const std::optional<size_t> tail = Ipv6Pieces(text.substr(gap + 2), true);
  return head && tail && *head + *tail < 8;
}

// An address of a kind that is yet to come: "v", its version, and whatever it has.
bool IsFutureAddress(std::string_view text) {
  const size_t dot = text.find('.');
  return dot != std::string_view::npos && (text.front() == 'v' || text.front() == 'V') &&
         IsHexText(text.substr(1, dot - 1)) && dot + 1 < text.size() &&
         text.find('%') == std::string_view::npos && IsUriText(text.substr(dot + 1), ":");
}

bool IsBracketed(std::string_view host) {
  if (host.size() < 3 || host.front() != '[' || host.back() != ']') {
    return false;
  }
  const std::string_view address = host.substr(1, host.size() - 2);
  return IsIpv6(address) || IsFutureAddress(address);
}

// authority := [ userinfo "@" ] host [ ":" port ]           the host is not empty here
bool IsAuthority(std::string_view authority) {
  const size_t at = authority.find('@');
  const std::string_view user = at == std::string_view::npos ? "" : authority.substr(0, at);
  std::string_view host = authority.substr(at == std::string_view::npos ? 0 : at + 1);
  const size_t colon =
      host.find(':', host.find(']') == std::string_view::npos ? 0 : host.find(']'));
  const std::string_view port = colon == std::string_view::npos ? "" : host.substr(colon + 1);
  host = host.substr(0, colon);
  return IsUriText(user, ":") && !host.empty() && (IsUriText(host, "") || IsBracketed(host)) &&
         port.find_first_not_of("0123456789") == std::string_view::npos;
}

Decoded<void> TakeText(std::optional<std::string>& field, std::string value) {
  if (field) {
    return Fault::Violation("A setup option stands twice.");
  }
  field = std::move(value);
  return {};
}

Decoded<void> TakePath(Setup& setup, std::string value, Role sender) {
  if (sender == Role::kServer) {
    return Fault::Session(SessionCode::kInvalidPath, "A server sends no PATH.");
  }
  if (!IsPath(value)) {
    return Fault::Session(SessionCode::kMalformedPath, "PATH is no path of a URI.");
  }
  return TakeText(setup.path, std::move(value));
}

Decoded<void> TakeAuthority(Setup& setup, std::string value, Role sender) {
  if (sender == Role::kServer) {
    return Fault::Session(SessionCode::kInvalidAuthority, "A server sends no AUTHORITY.");
  }
  if (!IsAuthority(value)) {
    return Fault::Session(SessionCode::kMalformedAuthority, "AUTHORITY is none of a URI.");
  }
  return TakeText(setup.authority, std::move(value));
}

Decoded<void> TakeToken(Setup& setup, std::string_view value) {
  KVCAST_TRY(AuthToken token, DecodeToken(value));
  if (token.alias_type == AuthToken::AliasType::kDelete ||
      token.alias_type == AuthToken::AliasType::kUseAlias) {
    return Fault::Violation("SETUP refers to a token that cannot be there yet.");
  }
  setup.auth_tokens.push_back(std::move(token));
  return {};
}

Decoded<void> TakeBytes(Setup& setup, uint64_t type, std::string value, Role sender) {
  switch (type) {
    case kPath:
      return TakePath(setup, std::move(value), sender);
    case kAuthority:
      return TakeAuthority(setup, std::move(value), sender);
    case kAuthorizationToken:
      return TakeToken(setup, value);
    case kImplementation:
      return TakeText(setup.implementation, std::move(value));
    default:
      return {};
  }
}

void WriteText(ByteWriter& writer, uint64_t& previous, uint64_t type, std::string_view value) {
  writer.Vi64(type - previous);
  previous = type;
  writer.Vi64(value.size());
  writer.Write(value);
}

}  // namespace

void WriteSetup(ByteWriter& writer, const Setup& setup) {
  uint64_t previous = 0;
  if (setup.path) {
    WriteText(writer, previous, kPath, *setup.path);
  }
  for (const AuthToken& token : setup.auth_tokens) {
    WriteText(writer, previous, kAuthorizationToken, EncodeToken(token));
  }
  if (setup.auth_token_cache_bytes_max) {
    writer.Vi64(kMaxAuthTokenCacheSize - previous);
    previous = kMaxAuthTokenCacheSize;
    writer.Vi64(*setup.auth_token_cache_bytes_max);
  }
  if (setup.authority) {
    WriteText(writer, previous, kAuthority, *setup.authority);
  }
  if (setup.implementation) {
    WriteText(writer, previous, kImplementation, *setup.implementation);
  }
}

Decoded<Setup> ReadSetup(ByteReader& reader, Role sender) {
  Setup setup;
  uint64_t type = 0;
  while (!reader.done()) {
    KVCAST_TRY(const uint64_t delta, reader.Vi64());
    if (delta > std::numeric_limits<uint64_t>::max() - type) {
      return Fault::Violation("A setup option's type is past 2^64.");
    }
    type += delta;
    KVCAST_TRY(const uint64_t number, reader.Vi64());
    if (type % 2 == 1) {
      if (number > kOptionBytesMax) {
        return Fault::Violation("A setup option has at most 65,535 bytes.");
      }
      KVCAST_TRY(std::string value, reader.Text(number));
      KVCAST_TRY_VOID(TakeBytes(setup, type, std::move(value), sender));
    } else if (type == kMaxAuthTokenCacheSize) {
      if (setup.auth_token_cache_bytes_max) {
        return Fault::Violation("A setup option stands twice.");
      }
      setup.auth_token_cache_bytes_max = number;
    }
  }
  return setup;
}

}  // namespace kvcast::moqt::draft18
