#include "gym/common/data_folder.hpp"

#include <cstdlib>
#include <system_error>

namespace gym {

std::filesystem::path program_folder() {
    std::error_code error;
    return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
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
