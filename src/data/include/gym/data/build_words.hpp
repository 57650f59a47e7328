#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/data/build.hpp"

namespace gym::data {

/// A build as people write it, at a command line or in Python.
struct BuildWords {
    std::vector<std::string> inputs;  ///< files, folders, s3://, https://
    std::string output;
    std::uint32_t context = 0;  ///< of a model that must be able to train on it; 0: any
    std::string steps = "default";
    std::string format = "auto";
    std::string documents = "file";  ///< of a text: file, blank-lines, lines
    std::string text_key, licence_key;
    std::vector<std::string> languages, licences;
    std::string licence;       ///< of documents that name none
    std::string opt_out_file;  ///< ids, URLs and host names, one a line
    std::string index_memory = "1G";
    std::string s3_endpoint;
    std::uint64_t seed = 1;
    unsigned threads = 0;  ///< 0: one a core
    bool skip_malformed = false;
    std::uint32_t pad_to = 0;                    ///< PaddedRows::window; 0: no rows
    std::optional<std::uint32_t> padding_token;  ///< PaddedRows::padding
};

/// What build() takes, but for the encoder and the calls back; with the credentials of the
/// environment. @errors kInvalidArgument naming the option that cannot be used; those of reading
/// `opt_out_file`.
[[nodiscard]] Result<BuildOptions> build_options(const BuildWords& words);

}  // namespace gym::data
