#include "gym/devnet/process_table.hpp"

#include <algorithm>
#include <sstream>

#include "gym/common/file.hpp"
#include "gym/common/process_view.hpp"

namespace gym::devnet {
namespace {

constexpr std::uint64_t kPidFileBytesMax = 256;
constexpr const char* kSuffix = ".pid";

}  // namespace

std::filesystem::path ProcessTable::file_of(const std::string& name) const {
    return folder_ / (name + kSuffix);
}

Status ProcessTable::start(const std::string& name, SubprocessOptions options) {
    if (const auto entry = find(name); entry.ok() && entry->running)
        return fail(ErrorCode::kAlreadyExists,
                    name + " runs already as process " + std::to_string(entry->pid));
    options.die_with_parent = false;
    GYM_TRY(Subprocess child, Subprocess::start(options));
    GYM_CHECK(adopt(name, child.pid()));
    (void)child.release();
    return {};
}

Status ProcessTable::adopt(const std::string& name, pid_t pid) {
    GYM_TRY(const ProcessView view, view_process(pid));
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    return write_file_atomic(file_of(name),
                             as_bytes(std::to_string(pid) + " " + view.start_ticks + "\n"));
}

Result<ProcessEntry> ProcessTable::find(const std::string& name) const {
    GYM_TRY(const Bytes bytes, read_file(file_of(name), kPidFileBytesMax));
    std::istringstream text(std::string(bytes.begin(), bytes.end()));
    ProcessEntry entry{.name = name};
    std::string start_ticks;
    if (!(text >> entry.pid >> start_ticks))
        return fail(ErrorCode::kMalformed, file_of(name).string() + " is not a process record");
    const auto view = view_process(entry.pid);
    entry.running = view.ok() && view->start_ticks == start_ticks && !view->ended;
    return entry;
}

Status ProcessTable::stop(const std::string& name, int grace_ms) {
    const auto entry = find(name);
    if (!entry.ok()) {
        if (entry.error().code == ErrorCode::kNotFound) return {};
        return entry.error();
    }
    if (entry->running) GYM_CHECK(stop_process(entry->pid, grace_ms));
    std::error_code error;
    std::filesystem::remove(file_of(name), error);
    return {};
}

Result<std::vector<ProcessEntry>> ProcessTable::list() const {
    std::vector<ProcessEntry> out;
    std::error_code error;
    if (!std::filesystem::exists(folder_, error)) return out;
    for (const auto& file : std::filesystem::directory_iterator(folder_, error)) {
        if (file.path().extension() != kSuffix) continue;
        GYM_TRY(ProcessEntry entry, find(file.path().stem().string()));
        out.push_back(std::move(entry));
    }
    if (error)
        return fail(ErrorCode::kIo, "cannot list " + folder_.string() + ": " + error.message());
    std::ranges::sort(out, {}, &ProcessEntry::name);
    return out;
}

}  // namespace gym::devnet
