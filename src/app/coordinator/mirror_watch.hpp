#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace gym::app {

/// Reads `mirrors` of a configuration file again whenever the file changes, so that a mirror can be
/// added or taken out without a restart. A file that cannot be read changes nothing and is logged.
class MirrorWatch {
  public:
    using Changed = std::function<void(std::vector<std::string> mirrors)>;
    /// @param mirrors in use now. `changed` is called from a thread of the watch, until it ends.
    MirrorWatch(std::string config_path, std::vector<std::string> mirrors, Changed changed);

  private:
    /// Of the file, as cheap as a look at it can be.
    struct Version {
        std::filesystem::file_time_type written;
        std::uintmax_t size = 0;
        friend bool operator==(const Version&, const Version&) = default;
    };
    [[nodiscard]] std::optional<Version> version() const;
    void run(const std::stop_token& stop);
    void look();

    const std::string config_path_;
    std::vector<std::string> mirrors_;
    const Changed changed_;
    std::optional<Version> seen_;
    std::jthread thread_;  // last: it uses everything above
};

}  // namespace gym::app
