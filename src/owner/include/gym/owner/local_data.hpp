#pragma once

#include <filesystem>
#include <functional>
#include <optional>

#include "gym/blob/dataset.hpp"
#include "gym/blob/dataset_writer.hpp"
#include "gym/common/result.hpp"
#include "gym/data/build.hpp"
#include "gym/data/text_tokens.hpp"

/// Data that is on this machine, or comes to it, as tokens: one rule for the command line and
/// Python.
namespace gym::owner {

/// Whether `path` needs the pipeline of data::build(): it is not on this machine, a folder, or a
/// file that is not plain text by its name. Other files are token files, or texts as they are.
[[nodiscard]] bool holds_documents(const std::filesystem::path& path);

/// Tokens that are on this machine.
struct LocalTokens {
    blob::DatasetSummary dataset;
    std::optional<blob::Dataset> of_text;  ///< absent: they are in a token file, and stay there

    static LocalTokens in_memory(blob::Dataset of_text);
    static LocalTokens in_file(const blob::DatasetSummary& dataset) { return {dataset, {}}; }
};

/// A token file, which is checked in constant memory and whose tokenizer must be `tokenizer` if
/// there is one, or the tokens of a text as it is. @errors kNotFound, kIo; kInvalidArgument for
/// another tokenizer or an empty text; those of scan_dataset() and Tokenizer::encode(). All name
/// the file.
[[nodiscard]] Result<LocalTokens> read_tokens(const std::filesystem::path& path,
                                              const data::OptionalTokenizer& tokenizer);
/// @return of a token file; absent: `path` is no such file. @errors those of scan_dataset().
[[nodiscard]] Result<std::optional<blob::DatasetSummary>> scan_token_file(
    const std::filesystem::path& path);

struct KeptBuild {
    std::filesystem::path token_file;         ///< its manifest and its tokenizer lie beside it
    std::optional<data::BuildReport> report;  ///< absent: it was there
};
/// Runs a build whose options are complete but for what only the caller has: calls back.
using RunBuild = std::function<Result<data::BuildReport>(data::BuildOptions)>;

/// What `path` stands for (holds_documents()), built by the default steps of `gym data build` and
/// kept in `folder` for as long as the files stay as they are (remote ones by their ETags), so that
/// it is built once; an interrupted build continues. @param folder is made if it is not there.
/// @errors those of data::build(); kIo.
[[nodiscard]] Result<KeptBuild> build_kept(const std::filesystem::path& path,
                                           const data::OptionalTokenizer& tokenizer,
                                           const std::filesystem::path& folder,
                                           const RunBuild& run);

}  // namespace gym::owner
