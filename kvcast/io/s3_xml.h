#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/store/bucket.h"

namespace kvcast {

// The little XML that an S3 server answers with, and nothing else of XML: elements, text and the
// five entities. What it cannot be sure of is malformed; documents that define entities are, too.
// A server's answers are not trusted.

inline constexpr size_t kS3XmlBytesMax = 8 << 20;

// listing := <ListBucketResult> (<Contents> <Key/> <Size/> … </Contents> | <IsTruncated/>
//            | <NextContinuationToken/> | …)* </ListBucketResult>
struct S3Listing {
  std::vector<BucketCompletion::Entry> entries;
  std::string continuation;  // Empty: that was all.
};
Result<S3Listing> ParseS3Listing(std::string_view xml);

// error := <Error> (<Code/> | <Message/> | …)* </Error>
struct S3Failure {
  std::string code;
  std::string message;
};
Result<S3Failure> ParseS3Error(std::string_view xml);

// What it means to us. `code` is empty where the server sent none.
BucketError::Kind KindOfS3Error(long status, std::string_view code);

}  // namespace kvcast
