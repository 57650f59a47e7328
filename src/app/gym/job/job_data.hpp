#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "gym/common/result.hpp"
#include "gym/owner/local_data.hpp"
#include "tokenizer/tokenizer_input.hpp"

/// The data of a job that is on this machine, or comes to it.
namespace gym::app {

/// How a text becomes tokens.
struct TextReading {
    TokenizerOptions tokenizer;    ///< not given: `beside`, else a token is a byte
    std::string beside;            ///< a folder of weights that may hold the model's tokenizer
    std::uint32_t vocabulary = 0;  ///< of the model
    bool quiet = false;            ///< no lines on standard error
};

struct JobData {
    owner::LocalTokens tokens;
    /// Where they are, unless they are in memory; the tokenizer's files, if there are any, lie
    /// beside it (tokenizer::find_bundle()).
    std::filesystem::path token_file;
};

/// Reads a token file; makes tokens of a text as it is; builds a folder, and files of JSON lines,
/// Parquet or compressed text, by the default steps of `gym data build`, and so what s3:// and
/// https:// URLs name, with the credentials of the environment. What was built is kept below the
/// data directory (`datasets`), for as long as the files stay as they are (remote ones by their
/// ETags): a quote and its submission build it once, and an interrupted build continues.
/// @errors those of data::build() and Tokenizer::load(); kInvalidArgument if the tokens are not of
/// the tokenizer that is named, or beyond the model's vocabulary.
[[nodiscard]] Result<JobData> load_job_data(const std::filesystem::path& path,
                                            const TextReading& reading);

/// Whether a model of `vocabulary` tokens can train on data of `data_vocabulary`. @param data names
/// it. @errors kInvalidArgument.
[[nodiscard]] Status check_vocabulary(const std::string& data, std::uint32_t data_vocabulary,
                                      std::uint32_t vocabulary);
/// A sentence for the owner if the data uses little of the model's vocabulary; else empty.
[[nodiscard]] std::string vocabulary_warning(std::uint32_t data_vocabulary,
                                             std::uint32_t vocabulary);

}  // namespace gym::app
