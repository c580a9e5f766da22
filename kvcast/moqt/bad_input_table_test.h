#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <string_view>

#include "kvcast/base/bytes.h"
#include "kvcast/base/hex.h"
#include "kvcast/moqt/draft_grammar_test.h"

namespace kvcast::moqt {

// How the cases of a table came out, told at its end. A few failures of each kind are enough to
// read.
class BadInputTable {
 public:
  BadInputTable(const char* name, size_t at_least) : name_(name), at_least_(at_least) {}
  BadInputTable(const BadInputTable&) = delete;
  BadInputTable& operator=(const BadInputTable&) = delete;
  ~BadInputTable() {
    std::cout << "[          ] " << name_ << ": " << cases_ << " cases, " << wrong_ << " wrong; "
              << left_open_ << " more that the draft leaves open\n";
    EXPECT_EQ(wrong_, 0u);
    EXPECT_GE(cases_, at_least_);  // A table that is generated may come out empty.
  }

  void Check(const std::string& kind, std::string_view why, std::string_view wire, bool fin,
             const draft::Verdict& outcome, const draft::Verdict& verdict) {
    if (verdict == draft::kLeftOpen) {
      ++left_open_;
      return;
    }
    ++cases_;
    if (outcome == verdict) {
      return;
    }
    ++wrong_;
    if (++told_[kind + verdict.ToString()] <= 3) {
      ADD_FAILURE() << kind << ", " << why << ": " << outcome.ToString() << " instead of "
                    << verdict.ToString() << "\n  "
                    << ToHex(AsBytes(wire.substr(0, std::min<size_t>(wire.size(), 100))))
                    << (fin ? " FIN" : "");
    }
  }

 private:
  const char* name_;
  size_t at_least_;
  size_t cases_ = 0;
  size_t wrong_ = 0;
  size_t left_open_ = 0;
  std::map<std::string, size_t> told_;
};

}  // namespace kvcast::moqt
