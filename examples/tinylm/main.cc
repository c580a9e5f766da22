// tinylm: a small language model to try kvcast with.
#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>

#include "examples/tinylm/command.h"

namespace {

int Run(int argc, char** argv) {
  using namespace kvcast::tinylm;
  std::string model = TINYLM_MODEL_FOLDER;
  int exit_status = 0;
  CLI::App app(
      "A small language model to try kvcast with: 5.5 million parameters, documentation\n"
      "and code, no more.\n");
  app.name("tinylm");
  app.require_subcommand(1);
  app.add_option("--model", model, "The folder of the model's files")
      ->envname("TINYLM_MODEL")
      ->type_name("FOLDER")
      ->capture_default_str();
  app.footer(
      "Try:  tinylm generate 'The cache is full.'\n"
      "      tinylm tokenize 'Hello, world.' | tinylm detokenize\n"
      "      tinylm generate --help");
  AddGenerateCommand(app, model, &exit_status);
  AddPrefillCommand(app, model, &exit_status);
  AddTokenizeCommand(app, model, &exit_status);
  AddDetokenizeCommand(app, model, &exit_status);
  CLI11_PARSE(app, argc, argv);
  return exit_status;
}

}  // namespace

int main(int argc, char** argv) {
  // A file as long as this process may make one is told like a full disk, not by a death.
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
  try {
    return Run(argc, argv);
  } catch (const std::exception& error) {  // Ours are values; the libraries' are not.
    std::cerr << "tinylm: " << error.what() << "\n";
    return 1;
  }
}
