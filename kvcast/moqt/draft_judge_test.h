#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kvcast/moqt/draft_grammar_test.h"
#include "kvcast/moqt/draft_wire_test.h"

namespace kvcast::moqt::draft {

// What the receiver of a message knows when it comes.
struct Facts {
  bool at_server = true;
  std::set<uint64_t> used_ids;                   // Of the sender's requests.
  std::pair<uint64_t, uint64_t> fetched_from;    // Where the fetch began that FETCH_OK answers.
  std::vector<std::string> prefix;               // That suffixes are below of.
  std::set<std::vector<std::string>> announced;  // Suffixes that NAMESPACE has told of.
  bool about_namespace = false;                  // The request that REQUEST_ERROR answers.
  std::optional<uint64_t> joinable;              // A subscription of the sender's, by its id.
  uint64_t joined_group = 0;                     // Where it began.
};

// The draft's rules on the bytes of a message, applied one after the other.
//
// Bytes that do not follow their format come first, whatever else is wrong; then request ids, then
// tokens, then what is refused. The draft names no order; a receiver that parses before it thinks
// has this one.
class Judge {
 public:
  Judge(Use use, const Facts& facts) : use_(use), facts_(&facts) {}

  Verdict Message(std::string_view body);

 private:
  void Read(Part part, Reader& in);
  void RequestId(Reader& in);
  std::vector<std::string> Namespace(Reader& in, size_t* bytes);
  std::vector<std::string> FullName(Reader& in);
  void Requested(const std::vector<std::string>& space);
  void Suffix(Reader& in, bool named);
  void Parameters(Reader& in);
  void Value(Reader& in, Encoding encoding);
  void Token(std::string_view bytes, bool in_setup);
  void Filter(std::string_view bytes);
  void Properties(std::string_view bytes);
  void Options(Reader& in);
  void Option(uint64_t type, std::string_view bytes, bool repeated);
  void FetchRange(Reader& in);
  void EndLocation(Reader& in);
  void ErrorAndRest(Reader& in);
  std::string_view Text(Reader& in, uint64_t most);

  void Fault(Verdict verdict) { fault_ = fault_ ? fault_ : verdict; }
  static void Note(std::optional<Verdict>& where, Verdict verdict) {
    where = where ? where : verdict;
  }

  Use use_;
  const Facts* facts_;
  std::optional<Verdict> fault_;
  std::optional<Verdict> id_;
  std::optional<Verdict> token_;
  std::optional<Verdict> refusal_;
};

// Whether the pairs of [1.4.3] can be read, and what they are. An odd type's value is its bytes.
struct Pair {
  uint64_t type;
  uint64_t number;
  std::string_view bytes;
};
std::optional<std::vector<Pair>> Pairs(std::string_view bytes);

// [2.5.1, 12.7 to 12.9] on an object's properties; absent if nothing is wrong.
std::optional<Verdict> JudgeObjectProperties(std::string_view bytes, uint64_t group,
                                             uint64_t object);

}  // namespace kvcast::moqt::draft
