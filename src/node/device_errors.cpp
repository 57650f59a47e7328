#include "gym/node/device_errors.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <tuple>

#include "gym/common/bytes.hpp"
#include "gym/common/file.hpp"

namespace gym::node {
namespace {

constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 20;

}  // namespace

Result<std::string> DeviceErrors::text() const {
    // Where there is no such folder there are no errors; the first write to it says what is wrong.
    std::error_code unreadable;
    if (!std::filesystem::is_directory(file_.parent_path(), unreadable)) return std::string();
    const auto bytes = read_file(file_, kFileBytesMax);
    if (!bytes.ok() && bytes.error().code == ErrorCode::kNotFound) return std::string();
    if (!bytes.ok()) return bytes.error();
    return std::string(bytes->begin(), bytes->end());
}

Result<unsigned> DeviceErrors::count() const {
    GYM_TRY(const std::string lines, text());
    std::istringstream in(lines);
    unsigned count = 0;
    for (std::string line; std::getline(in, line);) {
        const std::size_t device = line.find(' ');
        if (device == std::string::npos) continue;
        if (std::string_view(line).substr(device + 1).starts_with(device_ + ": ")) ++count;
    }
    return count;
}

namespace {

/// What root wrote is the service's, whose folder it is: `gym node doctor` may be run as root.
void give_to_owner_of_folder(const std::filesystem::path& file) {
    struct stat folder {};
    if (::geteuid() == 0 && ::stat(file.parent_path().c_str(), &folder) == 0)
        std::ignore = ::chown(file.c_str(), folder.st_uid, folder.st_gid);
}

}  // namespace

/// Appended in one write: `gym node doctor` may find an error while the node does.
Status DeviceErrors::add(std::string_view what, std::int64_t now_ms) const {
    std::string line = std::to_string(now_ms) + " " + device_ + ": " + std::string(what);
    std::ranges::replace(line, '\n', ' ');
    GYM_TRY(FileAppender file, FileAppender::open(file_));
    give_to_owner_of_folder(file_);
    GYM_CHECK(file.append(as_bytes(line + "\n")));
    return file.sync();
}

Status DeviceErrors::check() const {
    GYM_TRY(const unsigned found, count());
    if (found < kErrorsMax) return {};
    return fail(ErrorCode::kInvalidArgument,
                device_ + " gave wrong results " + std::to_string(found) +
                    " times, which were found before they were signed; the node no longer computes "
                    "on it. Lower its clocks or cool it, test its memory, or use another --device; "
                    "once it is fixed, remove " +
                    file_.string());
}

}  // namespace gym::node
