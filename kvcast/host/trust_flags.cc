#include "kvcast/host/trust_flags.h"

#include "kvcast/host/command.h"
#include "kvcast/host/token_file.h"

namespace kvcast {

void TrustFlags::AddTo(CLI::App& command, TrustFlags& flags, const std::string& authorities,
                       CLI::Option* needed) {
  CLI::Option* const trusted =
      command
          .add_option(authorities, flags.authorities,
                      "The authorities to trust with the server's certificate, in a PEM file")
          ->type_name("FILE")
          ->default_str("those this machine trusts");
  CLI::Option* const certificate =
      command
          .add_option("--cert", flags.certificate,
                      "A certificate to show to a server that asks for one, in PEM")
          ->type_name("FILE");
  CLI::Option* const key =
      command.add_option("--key", flags.key, "Its private key, in PEM")->type_name("FILE");
  certificate->needs(key);
  key->needs(certificate);
  command
      .add_option("--token-file", flags.token_file,
                  "A file with the token to send to a server that knows its clients by tokens")
      ->type_name("FILE")
      ->envname("KVCAST_TOKEN_FILE")
      ->default_str("what KVCAST_TOKEN_FILE names");
  CLI::Option* const insecure =
      command.add_flag("--insecure-skip-verification", flags.insecure_skip_verification,
                       "Take any certificate: whoever sits on the way can read and change "
                       "everything. For debugging");
  if (needed != nullptr) {
    for (CLI::Option* const option : {trusted, certificate, insecure}) {
      option->needs(needed);
    }
  }
}

Result<ServerTrust> TrustFlags::Applied(ServerTrust trust) const {
  if (!insecure_skip_verification) {
    return trust;
  }
  if (!std::holds_alternative<SystemTrust>(trust)) {
    return Error(ErrorCode::kInvalid,
                 "There is something to check the server's certificate by, and "
                 "--insecure-skip-verification says not to: choose.");
  }
  PrintProblem(
      "warning: the server's certificate is not checked, as --insecure-skip-verification asks: "
      "anybody on the way can pose as the server.");
  return ServerTrust(InsecureSkipVerification{});
}

Result<std::string> TrustFlags::Token() const {
  return token_file.empty() ? Result<std::string>(std::string()) : ReadToken(token_file);
}

std::optional<CertificateFiles> TrustFlags::own() const {
  if (certificate.empty()) {
    return std::nullopt;
  }
  return CertificateFiles{certificate, key};
}

}  // namespace kvcast
