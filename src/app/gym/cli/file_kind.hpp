#pragma once

#include <filesystem>

/// What a file is by its first bytes; a file that cannot be read is none of these.
namespace gym::app {

/// A zip archive, as torch.jit.save() writes them.
[[nodiscard]] bool is_torchscript(const std::filesystem::path& path);
/// A program as program::encode() writes it.
[[nodiscard]] bool is_program(const std::filesystem::path& path);

}  // namespace gym::app
