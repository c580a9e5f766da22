#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "kvcast/base/result.h"
#include "kvcast/io/certificate.h"
#include "kvcast/io/quic_credentials.h"

namespace kvcast {

// A folder with an authority and the certificates it has signed, each with its key beside it:
//
//   authority.pem authority.key   NAME.pem NAME.key ...
//
// Keys are for their owner alone. A file that is there is never overwritten unless that is asked
// for, and then the old one stays until the new one is whole.
class CertificateFolder {
 public:
  explicit CertificateFolder(std::filesystem::path directory) : directory_(std::move(directory)) {}

  struct Wish {
    std::string name;  // Of an authority: empty for one that is made up.
    uint32_t days = 1;
    bool replace = false;
    std::vector<std::string> uris = {};  // Of a client: what it says of its holder.
  };
  // Invalid, of all three: there is one already, and it is not to be replaced.
  Result<CertificateFiles> MakeAuthority(const Wish& wish) const;
  // For these hosts. It is not valid for longer than its authority.
  Result<CertificateFiles> MakeNode(const std::vector<std::string>& hosts, const Wish& wish) const;
  Result<CertificateFiles> MakeClient(const Wish& wish) const;

  CertificateFiles authority() const { return FilesOf("authority"); }
  static Result<CertificateFacts> Read(const std::filesystem::path& certificate);

 private:
  CertificateFiles FilesOf(const std::string& name) const;
  Result<CertificateFiles> MakeSignedHere(const std::string& file_name, CertificateTerms terms,
                                          CertificateUse use, const Wish& wish) const;
  static Result<void> Write(const CertificateFiles& files, const CertificateAndKey& made,
                            bool replace);

  std::filesystem::path directory_;
};

}  // namespace kvcast
