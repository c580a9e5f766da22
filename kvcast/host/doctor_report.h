#pragma once

#include <string>
#include <vector>

#include "kvcast/host/finding.h"
#include "kvcast/host/machine_facts.h"

namespace kvcast {

// The findings for a person: a list of all, then what would help, most important first. With
// colours for a terminal.
std::string DoctorReport(const MachineFacts& facts, const std::vector<Section>& sections,
                         bool coloured);

// The same for a program, as JSON: the findings as above, and the facts as numbers. Keys are
// added, never renamed.
std::string DoctorJson(const MachineFacts& facts, const std::vector<Section>& sections);

}  // namespace kvcast
