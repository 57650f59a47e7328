#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <vector>

#include "gym/blob/dataset_header.hpp"
#include "gym/common/result.hpp"

namespace gym::data {

/// Random access to the tokens of a file that scan_dataset() has checked.
class TokenFile {
  public:
    /// @errors kNotFound, kIo; kMalformed for another file.
    static Result<TokenFile> open(const std::filesystem::path& path);
    /// Replaces `out` with `count` tokens from `first`. @errors kIo; kOutOfRange beyond the end.
    Status read(std::uint64_t first, std::uint64_t count, std::vector<std::uint32_t>& out);

  private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    TokenFile(std::FILE* file, std::filesystem::path path, const blob::DatasetHeader& header)
        : file_(file), path_(std::move(path)), header_(header) {}
    std::unique_ptr<std::FILE, Close> file_;
    std::filesystem::path path_;
    blob::DatasetHeader header_;
    std::uint64_t at_ = 0;  ///< the token that the file's position is at
    std::vector<std::uint8_t> bytes_;
};

}  // namespace gym::data
