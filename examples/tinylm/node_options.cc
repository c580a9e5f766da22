#include "examples/tinylm/node_options.h"

#include "examples/tinylm/base/file.h"

namespace kvcast::tinylm {
namespace {

constexpr size_t kTokenBytesMax = 65536;

}  // namespace

CLI::Option* NodeOptions::AddTo(CLI::App& command) {
  CLI::Option* const node = command.add_option("--node", node_.address,
                                               "A node, as 'kvcast serve' prints it: what it holds "
                                               "of the prompt is loaded, what is computed "
                                               "is published");
  node->type_name("HOST:PORT#FINGERPRINT");
  command
      .add_option("--ca", node_.authorities,
                  "The authorities to trust with the node's certificate, in a PEM file")
      ->type_name("FILE")
      ->needs(node);
  CLI::Option* const certificate = command.add_option(
      "--cert", node_.certificate, "A certificate to show to a node that asks for one, in PEM");
  CLI::Option* const key = command.add_option("--key", node_.certificate_key, "Its private key");
  certificate->type_name("FILE")->needs(node)->needs(key);
  key->type_name("FILE")->needs(certificate);
  command
      .add_option("--token-file", token_file_,
                  "A file with the token to send to a node that knows its clients by tokens")
      ->type_name("FILE")
      ->envname("KVCAST_TOKEN_FILE");
  return node;
}

Result<std::optional<kvcast::Node>> NodeOptions::Read() const {
  if (node_.address.empty()) {
    return std::optional<kvcast::Node>();
  }
  kvcast::Node node = node_;
  if (!token_file_.empty()) {
    TINYLM_TRY(node.token, ReadFile(token_file_, kTokenBytesMax));
    node.token.erase(node.token.find_last_not_of(" \t\r\n") + 1);
  }
  return std::optional(std::move(node));
}

}  // namespace kvcast::tinylm
