#include "gym/tokenizer/weights_tokenizer.hpp"

#include <system_error>

#include "gym/commit/sha256.hpp"
#include "gym/common/file.hpp"
#include "gym/tokenizer/bundle.hpp"

namespace gym::tokenizer {

namespace fs = std::filesystem;

Result<std::optional<Digest>> tokenizer_of_weights(const fs::path& init) {
    std::error_code ignored;
    if (init.empty() || !fs::is_directory(init, ignored)) return std::optional<Digest>();
    if (fs::exists(init / "tokenizer.json", ignored)) {
        // Of a kind that is not read here, such as Llama 2's: then its model counts.
        if (const auto loaded = Tokenizer::load(init / "tokenizer.json"); loaded.ok())
            return std::optional(loaded->root());
    }
    const fs::path model = init / "tokenizer.model";
    if (!fs::exists(model, ignored)) return std::optional<Digest>();
    GYM_TRY(const Bytes bytes, read_file(model, kBundleBytesMax));
    return std::optional(commit::sha256(bytes));
}

Status check_same_tokenizer(const std::optional<Digest>& of_weights, const Digest& of_dataset,
                            const std::string& dataset) {
    if (!of_weights || of_dataset == Digest() || *of_weights == of_dataset) return {};
    return fail(ErrorCode::kMismatch, "the weights have the tokenizer " + of_weights->hex() +
                                          ", and " + dataset + " was made with " +
                                          of_dataset.hex() +
                                          ": build the dataset with the weights' tokenizer "
                                          "(`gym data build --tokenizer FOLDER`)");
}

}  // namespace gym::tokenizer
