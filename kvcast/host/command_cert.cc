#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "kvcast/base/hex.h"
#include "kvcast/base/json.h"
#include "kvcast/host/certificate_folder.h"
#include "kvcast/host/command.h"
#include "kvcast/host/json_text.h"
#include "kvcast/host/peer_identity.h"
#include "kvcast/io/file.h"

namespace kvcast {
namespace {

constexpr uint32_t kAuthorityDays = 1825;
constexpr uint32_t kNodeDays = 397;
constexpr uint32_t kDaysMax = 7300;

struct CertOptions {
  std::string directory;
  std::vector<std::string> names;
  std::string name;
  std::vector<std::string> tenants;
  std::string role = "engine";
  std::string domain = "kvcast";
  uint32_t days = 0;
  bool replace = false;
  bool json = false;
};

std::string DayOf(WallTime time) { return ToIso8601(time).substr(0, 10); }

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + Printable(word, 253);
  }
  return text;
}

std::string UseOf(const CertificateFacts& facts) {
  if (facts.is_authority) {
    return "an authority, which signs other certificates";
  }
  if (facts.for_servers && facts.for_clients) {
    return "servers and clients";
  }
  return facts.for_servers   ? "servers"
         : facts.for_clients ? "clients"
                             : "neither servers nor clients";
}

void PrintFacts(const CertificateFacts& facts) {
  fmt::print("subject      {}\n", Printable(facts.subject, 500));
  if (facts.issuer != facts.subject) {
    fmt::print("signed by    {}\n", Printable(facts.issuer, 500));
  }
  if (!facts.hosts.empty()) {
    fmt::print("for hosts    {}\n", Joined(facts.hosts));
  }
  for (const std::string& uri : facts.uris) {
    fmt::print("holder       {}\n", Printable(uri, 500));
  }
  fmt::print("use          {}\n", UseOf(facts));
  fmt::print("valid        {} to {}{}\n", DayOf(facts.from), DayOf(facts.until),
             facts.until < WallNow()  ? " (it has EXPIRED)"
             : facts.from > WallNow() ? " (it is NOT YET valid)"
                                      : "");
  fmt::print("fingerprint  {}\n", facts.fingerprint.ToHex());
}

Json JsonOf(const CertificateFacts& facts) {
  return {{"subject", facts.subject},
          {"issuer", facts.issuer},
          {"hosts", facts.hosts},
          {"uris", facts.uris},
          {"authority", facts.is_authority},
          {"for_servers", facts.for_servers},
          {"for_clients", facts.for_clients},
          {"valid_from", ToIso8601(facts.from)},
          {"valid_until", ToIso8601(facts.until)},
          {"expired", facts.until < WallNow()},
          {"fingerprint", facts.fingerprint.ToHex()}};
}

// What was made, and what to do with it.
Result<void> Report(const CertOptions& options, const CertificateFiles& files,
                    const std::string& next) {
  KVCAST_TRY(const CertificateFacts facts, CertificateFolder::Read(files.certificate));
  if (options.json) {
    Json json = JsonOf(facts);
    json["certificate"] = files.certificate.string();
    json["key"] = files.key.string();
    fmt::print("{}", JsonText(json));
    return {};
  }
  fmt::print("certificate  {}\nkey          {} (for its owner alone; keep it so)\n",
             files.certificate.string(), files.key.string());
  PrintFacts(facts);
  fmt::print("\n{}", next);
  return {};
}

Result<void> RunAuthority(const CertOptions& options) {
  const CertificateFolder folder(options.directory);
  KVCAST_TRY(const CertificateFiles files,
             folder.MakeAuthority({options.name, options.days, options.replace}));
  return Report(options, files,
                fmt::format("Next, for each node, with the names and addresses that clients use:\n"
                            "  kvcast cert node {} --name HOST\n",
                            options.directory));
}

Result<void> RunNode(const CertOptions& options) {
  const CertificateFolder folder(options.directory);
  KVCAST_TRY(const CertificateFiles files,
             folder.MakeNode(options.names, {options.name, options.days, options.replace}));
  const std::string authority = folder.authority().certificate.string();
  const std::string& host = options.names.front();
  const bool v6 = host.find(':') != std::string::npos;
  return Report(options, files,
                fmt::format("On the node, with the tokens or the certificates of its clients:\n"
                            "  kvcast serve --listen 0.0.0.0:4433 --cert {0} --key {1} --tokens "
                            "FILE\n"
                            "  kvcast serve --listen 0.0.0.0:4433 --cert {0} --key {1} --client-ca "
                            "{2}\n"
                            "On clients, which need {2} and a token or a certificate:\n"
                            "  kvcast get PROMPT CACHE --model DIR --node {3}:4433 --node-ca {2} "
                            "--token-file FILE\n",
                            files.certificate.string(), files.key.string(), authority,
                            v6 ? "[" + host + "]" : host));
}

Result<void> RunClient(const CertOptions& options) {
  const CertificateFolder folder(options.directory);
  std::vector<std::string> uris;
  for (const std::string& tenant : options.tenants) {
    KVCAST_TRY(std::string uri, HolderUri(options.domain, tenant, options.role));
    uris.push_back(std::move(uri));
  }
  KVCAST_TRY(const CertificateFiles files,
             folder.MakeClient({options.name, options.days, options.replace, uris}));
  const std::string authority = folder.authority().certificate.string();
  return Report(
      options, files,
      fmt::format("{}On nodes that are to take only clients like this one:\n"
                  "  kvcast serve --cert NODE.pem --key NODE.key --client-ca {}\n"
                  "On the client:\n"
                  "  kvcast get PROMPT CACHE --model DIR --node HOST:4433 --node-ca {} --cert {} "
                  "--key {}\n",
                  uris.empty() ? "It names no tenant: it is good for nothing but together with a "
                                 "token, or a line for it in --tokens.\n"
                               : "",
                  authority, authority, files.certificate.string(), files.key.string()));
}

Result<void> RunShow(const CertOptions& options) {
  KVCAST_TRY(const CertificateFacts facts, CertificateFolder::Read(options.name));
  if (options.json) {
    fmt::print("{}", JsonText(JsonOf(facts)));
  } else {
    PrintFacts(facts);
  }
  return {};
}

using Runner = Result<void> (*)(const CertOptions&);

CLI::App* AddPart(CLI::App& cert, const char* name, const char* about, const char* example,
                  const std::shared_ptr<CertOptions>& options, Runner run, int* exit_status) {
  CLI::App* const part = cert.add_subcommand(name, about);
  part->group("Commands");
  part->footer(example);
  part->add_flag("--json", options->json, "Print it as JSON");
  part->callback([options, run, exit_status] {
    const Result<void> result = run(*options);
    *exit_status = result.ok() ? kExitOk : Failed(result.error());
  });
  return part;
}

void AddMaking(CLI::App& part, CertOptions& options, uint32_t days) {
  part.add_option("DIR", options.directory, "The folder of the authority")->required();
  options.days = days;
  part.add_option("--days", options.days, "For how many days it is valid")
      ->type_name("N")
      ->check(CLI::Range(uint32_t{1}, kDaysMax))
      ->capture_default_str();
  part.add_flag("--replace", options.replace,
                "Make a new one where there is one already; it takes the old one's place");
}

void AddAuthority(CLI::App& cert, int* exit_status) {
  const auto options = std::make_shared<CertOptions>();
  CLI::App* const part = AddPart(
      cert, "authority",
      "Make an authority that signs certificates of nodes and clients\n\n"
      "Leaves authority.pem, which every client may have, and authority.key, with which anybody "
      "can make certificates that your clients trust: keep it where no node is.",
      "kvcast cert authority certs", options, &RunAuthority, exit_status);
  AddMaking(*part, *options, kAuthorityDays);
  part->add_option("--name", options->name, "What it is called")
      ->type_name("TEXT")
      ->default_str("kvcast authority and some digits");
}

void AddNode(CLI::App& cert, int* exit_status) {
  const auto options = std::make_shared<CertOptions>();
  CLI::App* const part = AddPart(
      cert, "node",
      "Make a certificate for a node, signed by the authority in the folder\n\n"
      "It is good for exactly the names given: what clients write before the port. The files are "
      "called by the first of them.",
      "kvcast cert node certs --name node7.example --name 192.0.2.7\n"
      "kvcast cert node certs --name localhost --name 127.0.0.1 --name ::1",
      options, &RunNode, exit_status);
  AddMaking(*part, *options, kNodeDays);
  part->add_option("--name", options->names,
                   "A host name or address of the node; may be given many times")
      ->type_name("HOST")
      ->required()
      ->expected(1, 1000)
      ->check([](const std::string& name) {
        return IsHostName(name) ? "" : "'" + name + "' is no host name and no address.";
      });
}

void AddClient(CLI::App& cert, int* exit_status) {
  const auto options = std::make_shared<CertOptions>();
  CLI::App* const part = AddPart(
      cert, "client",
      "Make a certificate for a client, signed by the authority in the folder\n\n"
      "For nodes that take only clients they know ('kvcast serve --client-ca'). What its holder "
      "may do there, and with whose caches, stands in the certificate: a tenant and a role. It "
      "cannot be used to pose as a node.",
      "kvcast cert client certs --name engine-3 --tenant acme\n"
      "kvcast cert client certs --name edge-1 --tenant acme --tenant globex --role relay",
      options, &RunClient, exit_status);
  AddMaking(*part, *options, kNodeDays);
  part->add_option("--name", options->name, "What the client is called, and its files")
      ->type_name("NAME")
      ->required();
  part->add_option("--tenant", options->tenants,
                   "Whose caches it is for; may be given many times. _all is for every tenant, "
                   "_plain for names that are no tenant's")
      ->type_name("NAME")
      ->expected(1, 1000);
  part->add_option("--role", options->role,
                   "What it may do: publisher, subscriber, engine (both), relay, or admin")
      ->type_name("ROLE")
      ->capture_default_str();
  part->add_option("--domain", options->domain, "The trust domain of its holder's SPIFFE id")
      ->type_name("NAME")
      ->capture_default_str();
}

void AddShow(CLI::App& cert, int* exit_status) {
  const auto options = std::make_shared<CertOptions>();
  CLI::App* const part = AddPart(cert, "show", "Say what a certificate is for, and its fingerprint",
                                 "kvcast cert show node.pem", options, &RunShow, exit_status);
  part->add_option("FILE", options->name, "A certificate in PEM")->required();
}

}  // namespace

void AddCertCommand(CLI::App& app, int* exit_status) {
  CLI::App* const command = app.add_subcommand(
      "cert",
      "Make certificates for nodes and clients, and an authority that signs them\n\n"
      "A node on one machine needs none of this: it makes a certificate of its own, and clients "
      "pin its fingerprint. For more machines, make one authority, and a certificate for each "
      "node; clients are given the authority's certificate and check every node by it. Keys are "
      "written for their owner alone, and nothing is ever overwritten unless --replace says so.");
  command->group(kNodeCommands);
  command->footer(
      "kvcast cert authority certs\n"
      "kvcast cert node certs --name node7.example --name 192.0.2.7\n"
      "kvcast cert client certs --name engine-3 --tenant acme\n"
      "kvcast cert show certs/node7.example.pem");
  command->require_subcommand(1);
  AddAuthority(*command, exit_status);
  AddNode(*command, exit_status);
  AddClient(*command, exit_status);
  AddShow(*command, exit_status);
}

}  // namespace kvcast
