#include "gym/common/temporary_folder.hpp"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

namespace gym {

Result<TemporaryFolder> TemporaryFolder::create(std::string_view prefix) {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    if (error) return fail(ErrorCode::kIo, "no folder for temporary files: " + error.message());
    std::string name = (parent / (std::string(prefix) + "-XXXXXX")).string();  // for mkdtemp
    if (::mkdtemp(name.data()) == nullptr)
        return fail(ErrorCode::kIo, "cannot create " + name + ": " + std::strerror(errno));
    return TemporaryFolder(name);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;  // what cannot be removed stays in the system's temporary folder
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace gym
