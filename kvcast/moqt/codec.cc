#include "kvcast/moqt/codec.h"

#include "kvcast/moqt/draft18_codec.h"

namespace kvcast::moqt {
namespace {

constexpr Draft18Codec kDraft18;

// Every draft that we speak, the best first.
constexpr const Codec* kCodecs[] = {&kDraft18};

}  // namespace

std::vector<std::string> SpokenAlpns() {
  std::vector<std::string> alpns;
  for (const Codec* codec : kCodecs) {
    alpns.emplace_back(codec->alpn());
  }
  return alpns;
}

const Codec* CodecFor(std::string_view alpn) {
  for (const Codec* codec : kCodecs) {
    if (codec->alpn() == alpn) {
      return codec;
    }
  }
  return nullptr;
}

const Codec& DefaultCodec() { return *kCodecs[0]; }

}  // namespace kvcast::moqt
