#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "kvcast/moqt/one_stream_codec_test.h"
#include "kvcast/moqt/session_pair.h"

namespace kvcast::moqt {

// Tests of what sessions do whichever shape their draft has: pairs speak the draft of the test.
class EveryShape : public ::testing::TestWithParam<const Codec*> {
 public:
  static auto Drafts() {
    static const OneStreamCodec one_stream;
    return ::testing::Values(&DefaultCodec(), static_cast<const Codec*>(&one_stream));
  }
  static std::string Name(const ::testing::TestParamInfo<const Codec*>& draft) {
    return draft.param == &DefaultCodec() ? "StreamPerRequest" : "OneStream";
  }

 protected:
  // What GOAWAY says of requests, where the draft has that.
  static std::optional<RequestId> Named(RequestId id) {
    return GetParam() == &DefaultCodec() ? std::optional(id) : std::nullopt;
  }

  EveryShape() { SessionPair::spoken = GetParam(); }
  ~EveryShape() override { SessionPair::spoken = &DefaultCodec(); }
};

}  // namespace kvcast::moqt
