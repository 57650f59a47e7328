#include "gym/common/data_folder.hpp"

#include <sys/auxv.h>

#include <cstdlib>
#include <system_error>

namespace gym {

std::filesystem::path program_folder() {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) return program.parent_path();
    // Without /proc, as in a chroot: what the kernel was asked to run.
    const auto* const asked = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    if (asked == nullptr) return {};
    return std::filesystem::canonical(asked, error).parent_path();
}

std::filesystem::path data_folder() {
    if (const char* named = std::getenv("GYM_SOURCE_DIR"); named != nullptr && *named != '\0')
        return named;
    std::filesystem::path installed = program_folder().parent_path() / "share" / "gym";
    std::error_code error;
    if (std::filesystem::is_directory(installed / "sql", error)) return installed;
    return GYM_SOURCE_FOLDER;
}

}  // namespace gym
