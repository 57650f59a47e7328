#include "job/job_tokenizer.hpp"

#include <system_error>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/tokenizer/bundle.hpp"

namespace gym::app {

namespace fs = std::filesystem;

Result<std::optional<Digest>> tokenizer_of_weights(const std::string& init) {
    const fs::path folder(init);
    std::error_code ignored;
    if (init.empty() || !fs::is_directory(folder, ignored)) return std::optional<Digest>();
    if (fs::exists(folder / "tokenizer.json", ignored)) {
        // Of a kind that is not read here, such as Llama 2's: then its model counts.
        if (const auto loaded = tokenizer::Tokenizer::load(folder / "tokenizer.json"); loaded.ok())
            return std::optional(loaded->root());
    }
    const fs::path model = folder / "tokenizer.model";
    if (!fs::exists(model, ignored)) return std::optional<Digest>();
    GYM_TRY(const Bytes bytes, read_file(model, tokenizer::kBundleBytesMax));
    return std::optional(commit::sha256(bytes));
}

Status check_tokenizer(const std::optional<Digest>& of_weights, const registry::Dataset& dataset) {
    if (!of_weights || !dataset.tokenizer || *of_weights == *dataset.tokenizer) return {};
    return fail(ErrorCode::kMismatch, "the weights have the tokenizer " + of_weights->hex() +
                                          ", and dataset " + dataset.root.hex() +
                                          " was made with " + dataset.tokenizer->hex() +
                                          ": build the dataset with the weights' tokenizer "
                                          "(`gym data build --tokenizer FOLDER`)");
}

}  // namespace gym::app
