#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/tokenizer/bundle.hpp"

namespace gym::tokenizer {

/// OUT.tokenizer: the files of the tokenizer that made the token file OUT.
[[nodiscard]] std::filesystem::path bundle_path(const std::filesystem::path& token_file);

/// Writes the files of the tokenizer that made `token_file` beside it. @errors those of
/// make_bundle(); kIo.
Status write_bundle(const std::filesystem::path& token_file, std::vector<TokenizerFile> files);

/// The bundle beside a token file, encoded; absent if there is none. @errors kMismatch if it is not
/// the tokenizer with this root; those of read_bundle(); kIo.
[[nodiscard]] Result<std::optional<Bytes>> find_bundle(const std::filesystem::path& token_file,
                                                       const Digest& root);

/// The bundle in a file that write_bundle() wrote. @errors those of read_bundle(); kNotFound, kIo;
/// all name the file.
[[nodiscard]] Result<Bundle> load_bundle(const std::filesystem::path& bundle_file);
/// Whether the file begins like a bundle.
[[nodiscard]] bool is_bundle(const std::filesystem::path& file);

/// Puts the tokenizer of `token_file`, whose root is `root` (zero: a token is a byte), beside
/// `other`, which was made with the file's tokens: a state of a training. Without one there,
/// removes what is beside `other`, unless that is the same tokenizer.
/// @return whether there is one. @errors those of load_bundle(); kMismatch if it is another one.
Result<bool> copy_bundle(const std::filesystem::path& token_file, const Digest& root,
                         const std::filesystem::path& other);

}  // namespace gym::tokenizer
