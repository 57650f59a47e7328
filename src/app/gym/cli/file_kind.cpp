#include "cli/file_kind.hpp"

#include <array>
#include <fstream>
#include <string_view>

namespace gym::app {
namespace {

bool begins_with(const std::filesystem::path& path, std::string_view magic) {
    std::ifstream file(path, std::ios::binary);
    std::array<char, 8> first{};
    file.read(first.data(), static_cast<std::streamsize>(magic.size()));
    return file && std::string_view(first.data(), magic.size()) == magic;
}

}  // namespace

bool is_torchscript(const std::filesystem::path& path) {
    return begins_with(path, "PK\x03\x04");
}

bool is_program(const std::filesystem::path& path) {
    return begins_with(path, "GYMPROG1");
}

}  // namespace gym::app
