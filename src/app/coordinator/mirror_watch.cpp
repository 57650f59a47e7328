#include "mirror_watch.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <system_error>
#include <utility>

#include "coordinator_config.hpp"
#include "gym/common/stop.hpp"

namespace gym::app {
namespace {

constexpr std::chrono::seconds kLookEvery{2};

}  // namespace

MirrorWatch::MirrorWatch(std::string config_path, std::vector<std::string> mirrors, Changed changed)
    : config_path_(std::move(config_path)),
      mirrors_(std::move(mirrors)),
      changed_(std::move(changed)),
      seen_(version()),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

std::optional<MirrorWatch::Version> MirrorWatch::version() const {
    std::error_code code;
    Version out;
    out.written = std::filesystem::last_write_time(config_path_, code);
    if (!code) out.size = std::filesystem::file_size(config_path_, code);
    return code ? std::nullopt : std::optional(out);
}

void MirrorWatch::run(const std::stop_token& stop) {
    while (!wait_for_stop(stop, kLookEvery))
        look();
}

void MirrorWatch::look() {
    const auto now = version();
    if (!now || now == seen_) return;
    seen_ = now;
    auto file = load_coordinator_file(config_path_);
    if (!file.ok()) {
        spdlog::warn("the mirrors stay as they are: {}", file.error().message);
        return;
    }
    if (file->mirrors == mirrors_) return;
    mirrors_ = file->mirrors;
    spdlog::info("{} names {} mirrors now", config_path_, mirrors_.size());
    changed_(mirrors_);
}

}  // namespace gym::app
