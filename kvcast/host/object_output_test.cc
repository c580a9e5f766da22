#include "kvcast/host/object_output.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "kvcast/base/random.h"

namespace kvcast {
namespace {

std::string Payload(uint64_t seed) {
  std::string text(300'000, '\0');
  Random(seed).Fill(std::as_writable_bytes(std::span(text)));
  return text;
}

// Whoever reads the other end of the pipe takes their time.
TEST(ObjectOutput, DoesNotWaitForAPipe) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  ObjectOutput output = *ObjectOutput::Open({"-", false, ends[1]});
  EXPECT_FALSE(output.blocked());
  std::string written;
  for (uint64_t i = 0; i < 2; ++i) {
    Object object;
    object.payload = Bytes::Of(Payload(i));
    written += Payload(i);
    ASSERT_TRUE(output.Write(object).ok());
    EXPECT_TRUE(output.blocked());
  }
  std::string read;
  std::vector<char> buffer(10'000);
  while (output.blocked()) {
    const ssize_t count = ::read(ends[0], buffer.data(), buffer.size());
    ASSERT_GT(count, 0);
    read.append(buffer.data(), static_cast<size_t>(count));
    ASSERT_TRUE(output.Continue().ok());
  }
  ::close(ends[1]);
  for (ssize_t count = 1; count > 0;) {
    count = ::read(ends[0], buffer.data(), buffer.size());
    read.append(buffer.data(), static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
  ::close(ends[0]);
  EXPECT_TRUE(read == written);
}

}  // namespace
}  // namespace kvcast
