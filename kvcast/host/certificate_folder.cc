#include "kvcast/host/certificate_folder.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <system_error>

#include "kvcast/base/hex.h"
#include "kvcast/io/entropy.h"
#include "kvcast/io/file.h"

namespace kvcast {
namespace {

constexpr size_t kPemBytesMax = 1024 * 1024;
constexpr size_t kNameBytesMax = 64;  // What X.509 allows a common name.
// Clocks of machines differ.
constexpr auto kValidBefore = std::chrono::hours(24);

CertificateTerms TermsOf(std::string subject, std::vector<std::string> hosts, uint32_t days) {
  const WallTime now = WallNow();
  return {std::move(subject), std::move(hosts), now - kValidBefore,
          now + std::chrono::hours(24) * days};
}

// A name from the command line becomes part of a path, so it must not lead anywhere.
std::string FileNameOf(std::string name) {
  std::ranges::replace_if(
      name,
      [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '-' || c == '_' || c == '.');
      },
      '_');
  if (name.empty() || name.front() == '.') {
    name.insert(0, "_");
  }
  return name;
}

Result<void> CheckName(const std::string& name) {
  if (name.empty() || name.size() > kNameBytesMax) {
    return Error(ErrorCode::kInvalid, "A name has from 1 to 64 bytes.");
  }
  return {};
}

}  // namespace

CertificateFiles CertificateFolder::FilesOf(const std::string& name) const {
  return {directory_ / (name + ".pem"), directory_ / (name + ".key")};
}

Result<CertificateFacts> CertificateFolder::Read(const std::filesystem::path& certificate) {
  KVCAST_TRY(const std::string pem, ReadFile(certificate, kPemBytesMax));
  Result<CertificateFacts> facts = ReadCertificate(pem);
  if (!facts.ok()) {
    return std::move(facts).error().In(certificate.string());
  }
  return facts;
}

Result<void> CertificateFolder::Write(const CertificateFiles& files, const CertificateAndKey& made,
                                      bool replace) {
  std::error_code failed;
  for (const std::filesystem::path& path : {files.certificate, files.key}) {
    if (!replace && std::filesystem::exists(std::filesystem::symlink_status(path, failed))) {
      return Error(ErrorCode::kInvalid,
                   "It is there already, and what was made before would no longer fit. Say "
                   "--replace to make a new one all the same.")
          .In(path.string());
    }
  }
  KVCAST_TRY_VOID(WriteFileAtomically(files.key, AsBytes(made.key), 0600));
  return WriteFileAtomically(files.certificate, AsBytes(made.certificate), 0644);
}

Result<CertificateFiles> CertificateFolder::MakeAuthority(const Wish& wish) const {
  std::string name = wish.name;
  if (name.empty()) {
    // Two authorities of one name could not be told apart by those who trust both.
    std::array<std::byte, 4> digits{};
    FillRandom(digits);
    name = "kvcast authority " + ToHex(digits);
  }
  KVCAST_TRY_VOID(CheckName(name));
  std::error_code failed;
  std::filesystem::create_directories(directory_, failed);
  KVCAST_TRY(const CertificateAndKey made, kvcast::MakeAuthority(TermsOf(name, {}, wish.days)));
  KVCAST_TRY_VOID(Write(authority(), made, wish.replace));
  return authority();
}

Result<CertificateFiles> CertificateFolder::MakeSignedHere(const std::string& file_name,
                                                           CertificateTerms terms,
                                                           CertificateUse use,
                                                           const Wish& wish) const {
  std::error_code failed;
  if (!std::filesystem::exists(authority().certificate, failed)) {
    return Error(ErrorCode::kNotFound, "There is no authority here yet. 'kvcast cert authority " +
                                           directory_.string() + "' makes one.")
        .In(directory_.string());
  }
  if (file_name == "authority") {
    return Error(ErrorCode::kInvalid, "That is what the authority's own files are called.");
  }
  KVCAST_TRY(const CertificateFacts facts, Read(authority().certificate));
  if (!facts.is_authority) {
    return Error(ErrorCode::kInvalid,
                 "This certificate is no authority's: nobody would believe what it signs.")
        .In(authority().certificate.string());
  }
  CertificateAndKey signer;
  KVCAST_TRY(signer.certificate, ReadFile(authority().certificate, kPemBytesMax));
  KVCAST_TRY(signer.key, ReadFile(authority().key, kPemBytesMax));
  if (facts.until <= WallNow()) {
    return Error(ErrorCode::kInvalid,
                 "The authority has expired. Make another, with --replace, and then new "
                 "certificates for all nodes.")
        .In(authority().certificate.string());
  }
  terms.until = std::min(terms.until, facts.until);
  Result<CertificateAndKey> made = MakeSigned(signer, terms, use);
  if (!made.ok()) {
    return std::move(made).error().In(authority().key.string());
  }
  const CertificateFiles files = FilesOf(file_name);
  KVCAST_TRY_VOID(Write(files, *made, wish.replace));
  return files;
}

Result<CertificateFiles> CertificateFolder::MakeNode(const std::vector<std::string>& hosts,
                                                     const Wish& wish) const {
  // Clients go by the hosts; the subject is for people, and X.509 cuts it at 64 bytes.
  return MakeSignedHere(FileNameOf(hosts.front()), TermsOf("kvcast node", hosts, wish.days),
                        CertificateUse::kServer, wish);
}

Result<CertificateFiles> CertificateFolder::MakeClient(const Wish& wish) const {
  KVCAST_TRY_VOID(CheckName(wish.name));
  CertificateTerms terms = TermsOf(wish.name, {}, wish.days);
  terms.uris = wish.uris;
  return MakeSignedHere(FileNameOf(wish.name), std::move(terms), CertificateUse::kClient, wish);
}

}  // namespace kvcast
