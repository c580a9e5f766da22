#include "kvcast/host/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include "kvcast/host/command.h"
#include "kvcast/host/help_text.h"
#include "kvcast/host/suggestion.h"
#include "kvcast/host/text_layout.h"
#include "kvcast/host/version.h"
#include "kvcast/io/cut_file_watch.h"
#include "kvcast/io/system_error.h"

namespace kvcast {
namespace {

constexpr const char* kAbout =
    "kvcast distributes the KV caches of language models: what one engine has prefilled, any other "
    "engine finds and loads instead of computing it again. It is a content delivery network for "
    "KV caches, over Media over QUIC, and this one program is every part of it.";

constexpr const char* kReadOn =
    "kvcast COMMAND --help explains one command. docs/README.md is where the documentation "
    "begins, and docs/reference/cli.md describes every command with its output.\n"
    "Exit status: 0 done, 1 failed (stderr says why), 2 the command line was not understood (of "
    "interop: 1).";

void AddCommands(CLI::App& app, int* exit_status) {
  AddNameCommand(app, exit_status);
  AddPutCommand(app, exit_status);
  AddFindCommand(app, exit_status);
  AddGetCommand(app, exit_status);
  AddLsCommand(app, exit_status);
  AddStatCommand(app, exit_status);
  AddWatchCommand(app, exit_status);
  AddWarmCommand(app, exit_status);
  AddInspectCommand(app, exit_status);
  AddRungsCommand(app, exit_status);
  AddEncodeCommand(app, exit_status);
  AddDecodeCommand(app, exit_status);
  AddCalibrateCommand(app, exit_status);
  AddServeCommand(app, exit_status);
  AddConfigCommand(app, exit_status);
  AddForgetCommand(app, exit_status);
  AddStoreCommand(app, exit_status);
  AddCertCommand(app, exit_status);
  AddTokenCommand(app, exit_status);
  AddMoqCommand(app, exit_status);
  AddInteropCommand(app, exit_status);
  AddDoctorCommand(app, exit_status);
  AddBenchCommand(app, exit_status);
  AddImpairCommand(app, exit_status);
  AddVersionCommand(app, exit_status);
}

// An empty word is what a shell leaves of a variable that is not set. Taken for "not given", it
// would have a command do more than was meant: forget all models, for one.
void RefuseEmptyWords(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) {
    if (option->get_items_expected_max() > 0) {
      option->check([](const std::string& word) {
        return word.empty() ? "This is an empty word. Leave it away, or say what is meant." : "";
      });
    }
  }
  for (CLI::App* const command : app.get_subcommands([](CLI::App*) { return true; })) {
    RefuseEmptyWords(*command);
  }
}

// What may stand where `app` reads a word: its commands, or its options with their dashes.
std::vector<std::string> KnownWords(const CLI::App& app, bool options) {
  std::vector<std::string> words;
  if (!options) {
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
      words.push_back(command->get_name());
    }
    return words;
  }
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      words.push_back("--" + name);
    }
  }
  return words;
}

std::string DidYouMean(const CLI::App& app, const std::string& word) {
  const auto meant = Suggestion(word, KnownWords(app, word.starts_with("-")));
  return meant ? fmt::format(" Did you mean '{}'?", *meant) : "";
}

// The option of a command that was given more often than it is taken; null if there is none.
const CLI::Option* GivenTooOften(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_items_expected_max() == 1 && option->count() > 1) {
      return option;
    }
  }
  return nullptr;
}

int UsageProblem(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  std::string name = "kvcast";
  for (auto chosen = app.get_subcommands(); !chosen.empty(); chosen = command->get_subcommands()) {
    command = chosen.front();
    name += " " + command->get_name();
  }
  std::string problem = error.what();
  if (const std::vector<std::string> extra = command->remaining(); !extra.empty()) {
    problem = fmt::format("'{}' does not take '{}'.", name, extra.front()) +
              DidYouMean(*command, extra.front());
  } else if (const CLI::Option* const option = GivenTooOften(*command);
             option != nullptr && dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    problem = fmt::format("{} is given {} times, and only one can be meant.", option->get_name(),
                          option->count());
  } else if (!problem.ends_with('.')) {
    problem += '.';
  }
  PrintProblem(fmt::format("{} See '{} --help'.", problem, name));
  // Who runs test clients has given the other statuses a meaning.
  return name == "kvcast interop" ? kExitFailed : kExitUsage;
}

int Parse(CLI::App& app, std::vector<std::string> arguments, const int& exit_status) {
  if (arguments.empty()) {
    fmt::print(stderr, "{}", app.help());
    return kExitUsage;
  }
  if (arguments[0] == "help") {  // "help doctor" is "doctor --help".
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  const std::string& first = arguments[0];
  const std::vector<std::string> commands = KnownWords(app, /*options=*/false);
  if (!first.starts_with("-") && std::ranges::find(commands, first) == commands.end()) {
    PrintProblem(fmt::format("There is no command '{}'.{} 'kvcast --help' lists them.", first,
                             DidYouMean(app, first)));
    return kExitUsage;
  }
  try {
    std::ranges::reverse(arguments);  // CLI11 takes them from the back.
    app.parse(std::move(arguments));
    return exit_status;
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", app.help());
  } catch (const CLI::CallForVersion&) {
    fmt::print("kvcast {}\n", Version());
  } catch (const CLI::ParseError& error) {
    return UsageProblem(app, error);
  }
  return kExitOk;
}

int Run(int argc, const char* const* argv) {
  CLI::App app(kAbout, "kvcast");
  app.formatter(std::make_shared<HelpText>());
  app.set_help_flag("-h,--help", "Print this help");
  app.set_version_flag("--version", Version(), "Print the version");
  app.footer(kReadOn);
  app.require_subcommand(0, 1);
  int exit_status = kExitOk;
  AddCommands(app, &exit_status);
  RefuseEmptyWords(app);

  const int status = Parse(app, {argv + std::min(argc, 1), argv + argc}, exit_status);
  // A result that reached nobody is no success: the disk behind a redirection may be full.
  if ((std::fflush(stdout) != 0 || std::ferror(stdout) != 0) && status == kExitOk) {
    return Failed(SystemError("Cannot write the result to standard output", errno));
  }
  return status;
}

}  // namespace

void PrintProblem(std::string_view message) {
  fmt::print(stderr, "kvcast: {}\n", HarmlessLines(message));
}

int Failed(const Error& error) {
  PrintProblem(error.ToString());
  return kExitFailed;
}

int RunCommandLine(int argc, const char* const* argv) {
  EndOnCutFiles("kvcast");
  // A file as long as this process may make one is told like a full disk, not by a death.
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
  try {
    return Run(argc, argv);
  } catch (const std::exception& exception) {
    // No code of ours throws; the standard library does when memory or stdout is gone.
    static_cast<void>(std::fprintf(stderr, "kvcast: It stopped: %s.\n", exception.what()));
    return kExitFailed;
  }
}

}  // namespace kvcast
