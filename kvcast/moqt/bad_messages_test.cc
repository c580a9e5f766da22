// The table of bad inputs, control messages: each message of draft-18 in each of its uses, with
// each of its fields truncated at every byte, out of range, too long, repeated, out of order and
// unknown, and every byte changed. The draft's rules say what must become of each.
#include <gtest/gtest.h>

#include <functional>

#include "kvcast/moqt/bad_input_parts_test.h"
#include "kvcast/moqt/bad_input_scene_test.h"
#include "kvcast/moqt/bad_input_table_test.h"

namespace kvcast::moqt {
namespace {

using draft::Framed;
using draft::Judge;
using draft::kFine;
using draft::kLeftOpen;
using draft::kViolation;
using draft::MessageShape;
using draft::Part;
using draft::ShapeOf;
using draft::Verdict;

// Messages, each in its scene.
class Table {
 public:
  Table(const char* name, size_t at_least) : table_(name, at_least) {}

  void Expect(const Scene& scene, std::string_view why, std::string_view wire, bool fin,
              const Verdict& verdict, bool trickle = false) {
    BytePeer peer(scene.facts.at_server);
    const StreamId stream = scene.prepare(peer);
    peer.Drain();
    if (trickle) {
      peer.Trickle(stream, wire, fin);
    } else {
      peer.Send(stream, wire, fin);
    }
    const std::string kind = std::string(ShapeOf(scene.use).name) + ' ' + scene.name + " at a " +
                             (scene.facts.at_server ? "server" : "client");
    table_.Check(kind, why, wire, fin, peer.Outcome(stream), verdict);
  }

 private:
  BadInputTable table_;
};

void ForEachScene(const std::function<void(const Scene&)>& visit) {
  for (const bool at_server : {true, false}) {
    for (const Scene& scene : Scenes(at_server)) {
      visit(scene);
    }
  }
}

// Calls back with each good body: all fields plain, then each field in each other way.
void ForEachBody(const Scene& scene, const std::function<void(const std::string&)>& visit) {
  const std::vector<Part>& parts = ShapeOf(scene.use).parts;
  std::vector<std::vector<std::string>> good;
  std::string plain;
  for (const Part part : parts) {
    good.push_back(GoodWays(part, scene));
    plain += good.back()[0];
  }
  visit(plain);
  for (size_t i = 0; i < parts.size(); ++i) {
    for (size_t way = 1; way < good[i].size(); ++way) {
      std::string body;
      for (size_t j = 0; j < parts.size(); ++j) {
        body += good[j][i == j ? way : 0];
      }
      visit(body);
    }
  }
}

// Long texts are long; what stands within them is all the same.
constexpr size_t kShort = 90;

Verdict Judged(const Scene& scene, std::string_view body) {
  return Judge(scene.use, scene.facts).Message(body);
}

// Whether a prefix of the body can be a whole body.
bool EndsInPairs(const Scene& scene) {
  const Part last = ShapeOf(scene.use).parts.back();
  return last == Part::kTrackProperties || last == Part::kOptions;
}

TEST(BadMessages, GoodOnesAreNotAmongThem) {
  Table table("good messages", 1500);
  ForEachScene([&](const Scene& scene) {
    ForEachBody(scene, [&](const std::string& body) {
      const Verdict verdict = Judged(scene, body);
      EXPECT_TRUE(verdict == kFine || verdict == kLeftOpen) << ShapeOf(scene.use).name;
      const std::string wire = Framed(ShapeOf(scene.use).type, body);
      table.Expect(scene, "as it should be", wire, false, verdict);
      if (body.size() <= kShort) {
        table.Expect(scene, "as it should be, in bytes", wire, false, verdict, true);
      }
    });
  });
}

TEST(BadMessages, WithOneBadFieldAreToldSo) {
  Table table("bad fields", 15000);
  ForEachScene([&](const Scene& scene) {
    const std::vector<Part>& parts = ShapeOf(scene.use).parts;
    std::vector<std::string> plain;
    for (const Part part : parts) {
      plain.push_back(GoodWays(part, scene)[0]);
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      for (const BadWay& bad : BadWays(parts[i], scene)) {
        std::string body;
        for (size_t j = 0; j < parts.size(); ++j) {
          body += i == j ? bad.bytes : plain[j];
        }
        if (body.size() > 65535) {
          continue;
        }
        // The rule as it is written down for the field, and as the judge reads it.
        EXPECT_EQ(Judged(scene, body), bad.verdict)
            << ShapeOf(scene.use).name << ", " << bad.why << ": " << Judged(scene, body).ToString()
            << " and " << bad.verdict.ToString();
        const std::string wire = Framed(ShapeOf(scene.use).type, body);
        table.Expect(scene, bad.why, wire, false, bad.verdict);
        if (body.size() <= kShort) {
          table.Expect(scene, bad.why + ", in bytes", wire, false, bad.verdict, true);
        }
      }
    }
  });
}

TEST(BadMessages, CutShortAtAnyByteAreToldSo) {
  Table table("truncated messages", 15000);
  ForEachScene([&](const Scene& scene) {
    const uint64_t type = ShapeOf(scene.use).type;
    ForEachBody(scene, [&](const std::string& body) {
      if (body.size() > kShort) {
        return;
      }
      for (size_t length = 0; length < body.size(); ++length) {
        const std::string_view cut = std::string_view(body).substr(0, length);
        const Verdict verdict = Judged(scene, cut);
        EXPECT_TRUE(verdict == kViolation || EndsInPairs(scene)) << ShapeOf(scene.use).name;
        table.Expect(scene, "cut short", Framed(type, cut), false, verdict);
      }
      // The stream ends within the message.
      const std::string wire = Framed(type, body);
      for (size_t length = 1; length < wire.size(); ++length) {
        table.Expect(scene, "ended within", wire.substr(0, length), true, kViolation);
      }
    });
  });
}

TEST(BadMessages, WithAnotherLengthAreToldSo) {
  Table table("lengths", 5000);
  ForEachScene([&](const Scene& scene) {
    const uint64_t type = ShapeOf(scene.use).type;
    bool plain = true;
    ForEachBody(scene, [&](const std::string& body) {
      for (const size_t more : {size_t{1}, size_t{2}, size_t{9}, 65535 - body.size()}) {
        for (const char fill : {'\xff', '\x00'}) {
          if (more < 10 || plain) {
            const std::string longer = body + std::string(more, fill);
            table.Expect(scene, "too long", Framed(type, longer), false, Judged(scene, longer));
          }
        }
      }
      plain = false;
      // A length that is one more than there is waits for it, and the end of the stream is within.
      std::string waiting = Framed(type, body + "x");
      waiting.pop_back();
      table.Expect(scene, "one byte waited for", waiting, false, kFine);
      table.Expect(scene, "ended one byte early", waiting, true, kViolation);
    });
  });
}

TEST(BadMessages, WithAnyByteChangedAreJudgedByTheRules) {
  Table table("changed bytes", 50000);
  ForEachScene([&](const Scene& scene) {
    const uint64_t type = ShapeOf(scene.use).type;
    ForEachBody(scene, [&](const std::string& body) {
      if (body.size() > kShort) {
        return;
      }
      for (size_t at = 0; at < body.size(); ++at) {
        for (const unsigned flip : {0x01u, 0x02u, 0x04u, 0x08u, 0x10u, 0x40u, 0x80u, 0xffu}) {
          std::string changed = body;
          changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ flip);
          table.Expect(scene, "byte " + std::to_string(at) + " changed", Framed(type, changed),
                       false, Judged(scene, changed));
        }
      }
    });
  });
}

}  // namespace
}  // namespace kvcast::moqt
