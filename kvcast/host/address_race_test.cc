// Hosts with several addresses, of which some lead nowhere.
#include "kvcast/engine/address_race.h"

#include <gtest/gtest.h>

#include "kvcast/engine/node_connection.h"
#include "kvcast/engine/scripted_server_test.h"
#include "kvcast/host/relay_connection.h"
#include "kvcast/io/udp_socket.h"

namespace kvcast {
namespace {

constexpr Duration kPatience = std::chrono::seconds(60);  // Only so as not to hang.

// An address at which nobody listens, and one at which somebody listens and never answers.
class AddressRaces : public testing::Test {
 protected:
  static std::vector<SocketAddress> Dead() {
    SocketAddress place;
    {
      const UdpSocket passing = *UdpSocket::Bind(SocketAddress::Loopback(0));
      place = passing.local();
    }
    return {place};
  }
  std::vector<SocketAddress> Silent() const { return {silent_.local()}; }
  std::vector<SocketAddress> Then(std::vector<SocketAddress> places) const {
    places.push_back(*SocketAddress::Resolve(server_.address().host_and_port));
    return places;
  }
  Result<std::unique_ptr<RelayConnection>> OpenRelay(std::vector<SocketAddress> places,
                                                     Duration patience = kPatience) {
    RelayConnection::Options options{*RelayUri::Parse("moqt://relay.example:4433/"),
                                     server_.address().trust, std::nullopt, std::move(places)};
    return RelayConnection::Open(*loop_, options, Now() + patience);
  }
  Result<std::unique_ptr<NodeConnection>> OpenNode(std::vector<SocketAddress> places,
                                                   Duration patience = kPatience) {
    NodeAddress address = server_.address();
    address.places = std::move(places);
    return NodeConnection::Open(address, TestKind(), patience);
  }

  const ScriptedServer server_;
  const UdpSocket silent_ = *UdpSocket::Bind(SocketAddress::Loopback(0));
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Make();
};

TEST_F(AddressRaces, AreWonByTheFirstThatAnswers) {
  for (const auto& places : {Then({}), Then(Dead()), Then(Silent())}) {
    const auto relay = OpenRelay(places);
    EXPECT_TRUE(relay.ok()) << relay.error().ToString();
    const auto node = OpenNode(places);
    EXPECT_TRUE(node.ok()) << node.error().ToString();
  }
}

TEST_F(AddressRaces, AreLostForTheReasonOfTheFirst) {
  std::vector<SocketAddress> places = Dead();
  const std::string first = places[0].ToString();
  places.push_back(Dead()[0]);
  for (const std::string& reason :
       {OpenRelay(places).error().ToString(), OpenNode(places).error().ToString()}) {
    EXPECT_NE(reason.find("Nobody listens at " + first), std::string::npos) << reason;
  }
}

TEST_F(AddressRaces, EndInTimeWhenNobodyAnswers) {
  const std::vector<SocketAddress> places{Silent()[0], Silent()[0]};
  const Duration patience = std::chrono::milliseconds(700);
  EXPECT_NE(OpenRelay(places, patience).error().ToString().find("Nothing answers there in time"),
            std::string::npos);
  EXPECT_NE(OpenNode(places, patience).error().ToString().find("The node does not answer"),
            std::string::npos);
}

}  // namespace
}  // namespace kvcast
