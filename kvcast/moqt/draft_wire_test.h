#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Bytes as the draft draws them, for the table of bad inputs. Written apart from the code that is
// tested, which must not agree with itself only.
namespace kvcast::moqt::draft {

inline constexpr uint64_t kMost = ~uint64_t{0};

// 1.4.1: leading ones of the first byte count the bytes that follow. `extra` says how many, which
// may be more than needed.
inline std::string Num(uint64_t value, size_t extra) {
  std::string out(extra + 1, '\0');
  for (size_t i = 0; i < out.size() && i < 8; ++i) {
    out[extra - i] = static_cast<char>(value >> (8 * i));
  }
  const auto ones = static_cast<unsigned char>(0xff00u >> extra);
  out[0] = static_cast<char>(static_cast<unsigned char>(extra == 8 ? 0 : out[0]) | ones);
  return out;
}
inline std::string Num(uint64_t value) {
  size_t extra = 0;
  while (extra < 8 && (value >> (7 * (extra + 1))) != 0) {
    ++extra;
  }
  return Num(value, extra);
}

inline std::string Byte(unsigned value) { return std::string(1, static_cast<char>(value)); }
inline std::string Sized(std::string_view bytes) { return Num(bytes.size()) + std::string(bytes); }
inline std::string At(uint64_t group, uint64_t object) { return Num(group) + Num(object); }

inline std::string Space(const std::vector<std::string>& fields) {
  std::string out = Num(fields.size());
  for (const std::string& field : fields) {
    out += Sized(field);
  }
  return out;
}

// 10: Type, Length (16), Payload.
inline std::string Framed(uint64_t type, std::string_view body) {
  return Num(type) + Byte(static_cast<unsigned>(body.size() >> 8)) +
         Byte(static_cast<unsigned>(body.size() & 0xff)) + std::string(body);
}

// Reads what the above writes. Once something is missing, all is zero and it says so.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  bool ran_out() const { return ran_out_; }
  bool done() const { return left_.empty(); }
  size_t remaining() const { return left_.size(); }

  std::string_view Take(uint64_t length) {
    if (ran_out_ || length > left_.size()) {
      ran_out_ = true;
      left_ = {};
      return {};
    }
    const std::string_view taken = left_.substr(0, static_cast<size_t>(length));
    left_.remove_prefix(static_cast<size_t>(length));
    return taken;
  }
  unsigned TakeByte() {
    const std::string_view byte = Take(1);
    return byte.empty() ? 0 : static_cast<unsigned char>(byte[0]);
  }
  uint64_t TakeNum() {
    const unsigned first = TakeByte();
    size_t extra = 0;
    while (extra < 8 && (first & (0x80u >> extra)) != 0) {
      ++extra;
    }
    uint64_t value = extra >= 7 ? 0 : first & (0x7fu >> extra);
    for (const char byte : Take(extra)) {
      value = value << 8 | static_cast<unsigned char>(byte);
    }
    return ran_out_ ? 0 : value;
  }

 private:
  std::string_view left_;
  bool ran_out_ = false;
};

}  // namespace kvcast::moqt::draft
