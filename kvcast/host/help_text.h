#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace kvcast {

// Writes the help of the program and of its commands, from what each command says of itself:
//
//   description  one line that stands in the list of commands; after a blank line, the rest of
//                what there is to know
//   group        the heading of the list under which the command stands
//   footer       examples, one a line and ready to be copied; the list of commands shows the first
//
// An option's type_name() names its value; an option with an empty group is not shown.
class HelpText : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace kvcast
