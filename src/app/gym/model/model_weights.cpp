#include "model/model_weights.hpp"

#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/rows.hpp"
#include "gym/common/file.hpp"
#include "gym/interchange/hf_config.hpp"
#include "gym/interchange/weights_file.hpp"
#include "gym/program/train_config_yaml.hpp"
#include "gym/program/train_program.hpp"
#include "gym/tokenizer/bundle.hpp"

namespace gym::app {
namespace {

namespace fs = std::filesystem;

constexpr std::array kTokenizerFiles{
    "tokenizer.json", "tokenizer.model", "tokenizer_config.json", "special_tokens_map.json",
    "vocab.json",     "merges.txt",      "added_tokens.json",     "chat_template.jinja"};

}  // namespace

Result<program::Program> program_of_weights(const std::string& weights, const std::string& model) {
    if (!model.empty()) {
        GYM_TRY(const auto config, program::load_train_config(model));
        return program::train_program(config);
    }
    const fs::path folder(weights);
    std::error_code ignored;
    if (fs::exists(folder / "gym.json", ignored)) {
        GYM_TRY(auto read, interchange::read_model_folder(folder));
        return std::move(read.program);
    }
    const fs::path config = folder / "config.json";
    if (!fs::exists(config, ignored))
        return fail(ErrorCode::kInvalidArgument,
                    weights +
                        " does not say which model the weights are of: name a preset or a "
                        "model file with --model");
    GYM_TRY(const Bytes text, read_file(config, interchange::kConfigBytesMax));
    program::TrainConfig train;
    train.batch = 2;  // the least that every task trains on
    auto described =
        interchange::parse_hf_config({reinterpret_cast<const char*>(text.data()), text.size()});
    if (!described.ok()) return described.error().in(config.string());
    train.model = *std::move(described);
    return program::train_program(train);
}

Result<std::vector<interchange::NamedFile>> tokenizer_beside(const std::string& weights) {
    std::vector<tokenizer::TokenizerFile> files;
    std::error_code ignored;
    for (const char* name : kTokenizerFiles) {
        const fs::path path = fs::path(weights) / name;
        if (!fs::is_regular_file(path, ignored)) continue;
        GYM_TRY(Bytes content, read_file(path, tokenizer::kBundleBytesMax));
        files.push_back({name, std::move(content)});
    }
    std::vector<interchange::NamedFile> out;
    if (files.empty()) return out;
    if (const auto bundle = tokenizer::make_bundle(files); !bundle.ok()) {
        print_notice("warning",
                     "the tokenizer in {} is not sent with the weights, so that what is pulled or "
                     "exported of them has none: {}; --tokenizer names another",
                     weights, bundle.error().message);
        return out;
    }
    out.reserve(files.size());
    for (tokenizer::TokenizerFile& file : files)
        out.push_back({std::move(file.name), std::move(file.bytes)});
    return out;
}

}  // namespace gym::app
