#pragma once

#include <map>
#include <string>
#include <string_view>

#include "kvcast/base/digest.h"
#include "kvcast/base/result.h"
#include "kvcast/io/certificate.h"
#include "kvcast/relay/access.h"

namespace kvcast {

// What a certificate says of its holder, as a URI among its names; one for each tenant:
//
//   spiffe://DOMAIN/tenant/TENANT/role/ROLE
//
// TENANT may be _all or _plain, as in a grant. Invalid: a part that cannot stand there.
Result<std::string> HolderUri(std::string_view domain, std::string_view tenant,
                              std::string_view role);
// The grant that such a URI stands for. Invalid: it is of another form.
Result<relay::Grant> GrantOfUri(std::string_view uri);

// Grants for certificates that say nothing themselves, or too much: what stands here counts
// instead. By fingerprint, and by subject, which only an authority can vouch for.
struct CertificateGrants {
  std::map<Digest, relay::TokenTable::Entry> by_fingerprint;
  std::map<std::string, relay::TokenTable::Entry> by_subject;

  bool empty() const { return by_fingerprint.empty() && by_subject.empty(); }
};

// Who has shown this certificate. A URI of ours that cannot be understood grants nothing.
relay::Credential CredentialOf(const CertificateFacts& facts, const CertificateGrants& grants);

}  // namespace kvcast
