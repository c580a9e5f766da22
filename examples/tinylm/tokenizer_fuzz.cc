// Any bytes as text: refused, or the same text again after its ids. Any bytes in place of a piece
// of a good tokenizer.json: refused, or a tokenizer of which the same holds.
#include <algorithm>
#include <string>
#include <string_view>

#include "examples/tinylm/base/check.h"
#include "examples/tinylm/sample_tokenizer.h"
#include "examples/tinylm/tokenizer.h"

namespace {

using kvcast::tinylm::SampleTokenizerJson;
using kvcast::tinylm::Start;
using kvcast::tinylm::Tokenizer;

void ThereAndBack(const Tokenizer& tokenizer, std::string_view text) {
  for (const Start start : {Start::kMarked, Start::kBare}) {
    const auto ids = tokenizer.Encode(text, start);
    if (ids.ok()) {
      const auto again = tokenizer.Decode(*ids, start);
      TINYLM_CHECK(again.ok() && *again == text);
    }
  }
}

}  // namespace

// input := place:u16 removed:u8 text...                                    little-endian
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string good = SampleTokenizerJson();
  static const Tokenizer tokenizer = *Tokenizer::Parse(good);
  if (size < 3) {
    return 0;
  }
  const std::string_view text(reinterpret_cast<const char*>(data) + 3, size - 3);
  ThereAndBack(tokenizer, text);

  const size_t place = std::min<size_t>(data[0] + 256u * data[1], good.size());
  std::string spoilt = good;
  spoilt.replace(place, data[2], text);
  if (const auto parsed = Tokenizer::Parse(spoilt); parsed.ok()) {
    ThereAndBack(*parsed, text);
    ThereAndBack(*parsed, "<s>It's the  same\xc2\xa0</s>\n");
  }
  return 0;
}
