// Checks a tar by a walk over its headers: structure, names, what lies between members and behind
// them. Damage does not end the walk; it goes on at the next header.
#pragma once

#include "formats/verify_finding.h"
#include "formats/verify_input.h"
#include "formats/verify_payload.h"
#include "formats/verify_samples.h"

namespace prep {

// Checks the archive that `input` holds, to its end, or until it is clear that it is none. Does not
// finish the ledger. An input that can seek is searched for members in what another member claims
// to be its data, where the archive is damaged behind it. throws what reading `input` throws.
void verify_tar(VerifyInput& input, const PayloadOptions& payload, SampleLedger& ledger,
                Findings& findings);

}  // namespace prep
