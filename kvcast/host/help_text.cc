#include "kvcast/host/help_text.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "kvcast/host/text_layout.h"

namespace kvcast {
namespace {

constexpr size_t kNameColumns = 18;

std::string_view FirstLine(std::string_view text) { return text.substr(0, text.find('\n')); }

std::vector<const CLI::App*> CommandsOf(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) {
    return !command->get_name().empty() && !command->get_group().empty();
  });
}

std::vector<const CLI::Option*> OptionsOf(const CLI::App& app, bool positional) {
  return app.get_options([positional](const CLI::Option* option) {
    return option->get_positional() == positional && !option->get_group().empty();
  });
}

std::string Usage(const CLI::App& app, const std::string& name) {
  std::string usage = "Usage: " + name;
  for (const CLI::Option* argument : OptionsOf(app, /*positional=*/true)) {
    std::string shown = argument->get_name(true);
    if (argument->get_expected_max() > 1) {
      shown += "...";
    }
    usage += " " + (argument->get_required() ? shown : "[" + shown + "]");
  }
  if (!CommandsOf(app).empty()) {
    usage += " COMMAND";
  }
  return usage + " [OPTIONS]\n";
}

std::string Row(const std::string& name, const std::string& text) {
  std::string row = "  " + Padded(name, kNameColumns);
  if (row.size() > kNameColumns + 2 || name.size() == kNameColumns) {
    row += "\n" + std::string(kNameColumns + 2, ' ');
  }
  return row + Wrapped(text, kNameColumns + 2) + "\n";
}

std::string OptionRow(const CLI::Option& option, bool positional) {
  std::string name = option.get_name(positional, !positional);
  if (const size_t comma = name.find(','); !positional && comma != std::string::npos) {
    name.insert(comma + 1, " ");
  }
  if (!positional && option.get_type_size() != 0) {
    name += " " + option.get_type_name();
  }
  std::string text = option.get_description();
  if (!option.get_default_str().empty()) {
    text += " (default: " + option.get_default_str() + ")";
  }
  return Row(name, text);
}

std::string OptionList(const CLI::App& app) {
  std::string arguments;
  for (const CLI::Option* argument : OptionsOf(app, /*positional=*/true)) {
    arguments += OptionRow(*argument, /*positional=*/true);
  }
  std::string options;
  for (const CLI::Option* option : OptionsOf(app, /*positional=*/false)) {
    options += OptionRow(*option, /*positional=*/false);
  }
  return (arguments.empty() ? "" : "\nArguments:\n" + arguments) + "\nOptions:\n" + options;
}

std::string CommandList(const CLI::App& app) {
  const std::vector<const CLI::App*> commands = CommandsOf(app);
  std::vector<std::string> groups;  // In the order in which they first appear.
  for (const CLI::App* command : commands) {
    if (std::ranges::find(groups, command->get_group()) == groups.end()) {
      groups.push_back(command->get_group());
    }
  }
  std::string list;
  for (const std::string& group : groups) {
    list += "\n" + group + ":\n";
    for (const CLI::App* command : commands) {
      if (command->get_group() == group) {
        const std::string description = command->get_description();
        const std::string examples = command->get_footer();
        list += Row(command->get_name(), std::string(FirstLine(description)) + "\n$ " +
                                             std::string(FirstLine(examples)));
      }
    }
  }
  return list;
}

std::string Examples(const CLI::App& app) {
  const std::string lines = app.get_footer();
  return lines.empty() ? "" : "\nExamples:\n  " + Wrapped(lines, 2) + "\n";
}

}  // namespace

std::string HelpText::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const {
  std::string help = Wrapped(app->get_description(), 0) + "\n\n" + Usage(*app, name);
  if (app->get_parent() == nullptr) {
    // The program's own footer says where to read on.
    return help + CommandList(*app) + OptionList(*app) + "\n" + Wrapped(app->get_footer(), 0) +
           "\n";
  }
  return help + CommandList(*app) + OptionList(*app) + Examples(*app);
}

}  // namespace kvcast
