#include "kvcast/host/quic_flags.h"

#include <filesystem>

namespace kvcast {

void QuicFlags::AddTo(CLI::App& command, QuicFlags& flags) {
  command
      .add_option("--congestion", flags.congestion,
                  "What decides how much is sent at a time: auto, cubic or bbr. auto is cubic to "
                  "this machine, and bbr, which packet loss does not stop, to every other")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "cubic", "bbr"}))
      ->capture_default_str();
  command
      .add_option("--qlog-dir", flags.qlog_directory,
                  "Leave a qlog file of every connection in this directory, up to 256 MiB each")
      ->type_name("DIR")
      ->check([](const std::string& given) {
        return std::filesystem::is_directory(given) ? "" : given + " is no directory";
      });
}

QuicOptions QuicFlags::Options() const {
  QuicOptions options;
  if (congestion != "auto") {
    options.congestion_control =
        congestion == "cubic" ? CongestionControl::kCubic : CongestionControl::kBbr;
  }
  options.qlog_directory = qlog_directory;
  return options;
}

}  // namespace kvcast
