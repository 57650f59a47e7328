#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "cli/cli_context.hpp"
#include "cli/inputs.hpp"
#include "cli/rows.hpp"
#include "data/tokenizer_process.hpp"
#include "gym/engine/generate.hpp"
#include "gym/interchange/model_folder.hpp"
#include "gym/program/train_program.hpp"
#include "gym/tokenizer/bundle_file.hpp"
#include "tokenizer/tokenizer_input.hpp"

namespace gym::app {
namespace {

/// What is continued without a prompt.
constexpr const char* kNoPrompt = "\n";

struct GenerateOptions {
    std::string program;
    std::string state;
    std::string model;  ///< folder, in the place of program and state
    bool logits = false;
    std::string prompt;
    std::string seed = "0";
    std::string sentence_piece;  ///< model file; empty: a token is a byte, or of `tokenizer`
    TokenizerOptions tokenizer;
    engine::GenerateOptions generate;
};

/// The prompt's tokens; from here on only tokens of its tokenizer are sampled, since a model may
/// have more. Without a tokenizer any token is, as a model of pieces has no bytes.
Result<std::vector<std::int32_t>> prompt_tokens(GenerateOptions& options) {
    const ByteView bytes = as_bytes(options.prompt);
    if (!options.tokenizer.path.empty()) {
        GYM_TRY(const auto tokenizer, read_tokenizer(options.tokenizer));
        const auto tokens = tokenizer.encode(options.prompt, {.special_tokens = true});
        if (!tokens.ok()) return tokens.error().in("--prompt");
        options.generate.permits = [tokenizer](std::int32_t token) {
            return tokenizer.has_token(static_cast<std::uint32_t>(token));
        };
        return std::vector<std::int32_t>(tokens->begin(), tokens->end());
    }
    if (options.sentence_piece.empty())
        return std::vector<std::int32_t>(bytes.begin(), bytes.end());
    const auto prompt = tokenize(options.sentence_piece, bytes);
    if (!prompt.ok()) return prompt.error().in("--prompt");
    options.generate.permits = [pieces = prompt->vocabulary()](std::int32_t token) {
        return static_cast<std::uint32_t>(token) < pieces;
    };
    return std::vector<std::int32_t>(prompt->tokens().begin(), prompt->tokens().end());
}

/// The prompt and its continuation.
Result<std::string> text_of(const GenerateOptions& options, std::vector<std::int32_t> prompt,
                            const std::vector<std::int32_t>& continuation) {
    if (!options.sentence_piece.empty()) {
        // Together: whether a piece begins with a space depends on what stands before it.
        prompt.insert(prompt.end(), continuation.begin(), continuation.end());
        return detokenize(options.sentence_piece, prompt);
    }
    if (!options.tokenizer.path.empty()) {
        GYM_TRY(const auto tokenizer, read_tokenizer(options.tokenizer));
        prompt.insert(prompt.end(), continuation.begin(), continuation.end());
        return tokenizer.decode(std::vector<std::uint32_t>(prompt.begin(), prompt.end()));
    }
    std::string text = options.prompt;
    for (const std::int32_t token : continuation) {
        if (token >= static_cast<std::int32_t>(blob::kByteVocabulary))
            return fail(ErrorCode::kInvalidArgument,
                        "token " + std::to_string(token) +
                            " is not a byte: name the model's tokenizer with --tokenizer or "
                            "--sentencepiece; of a model that was trained on bytes, --tokenizer "
                            "bytes takes bytes alone");
        text += static_cast<char>(token);
    }
    return text;
}

struct Model {
    program::Program program;
    engine::State state;
};

Result<Model> read_model(const GenerateOptions& options) {
    const bool files = !options.program.empty() && !options.state.empty();
    if (options.model.empty() == !files)
        return fail(ErrorCode::kInvalidArgument,
                    "name either a program and --state, or --model FOLDER (`gym job export`)");
    if (!options.model.empty()) {
        GYM_TRY(auto folder, interchange::read_model_folder(options.model));
        return Model{std::move(folder.program), std::move(folder.base)};
    }
    GYM_TRY(auto program, read_program(options.program));
    GYM_TRY(auto state, read_state(options.state, program));
    return Model{std::move(program), std::move(state)};
}

/// (tokens of the prompt, vocabulary).
Status print_logits(const CliContext& context, const GenerateOptions& options, const Model& model,
                    const std::vector<std::int32_t>& prompt) {
    if (!context.json)
        return fail(ErrorCode::kInvalidArgument,
                    "--logits prints numbers for programs: add --json");
    GYM_TRY(const auto logits,
            engine::logits_of(model.program, model.state, prompt, options.generate.engine));
    const std::size_t vocabulary = logits.size() / prompt.size();
    boost::json::array rows;
    for (std::size_t row = 0; row < prompt.size(); ++row) {
        const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(row * vocabulary);
        rows.push_back(boost::json::array(begin, begin + static_cast<std::ptrdiff_t>(vocabulary)));
    }
    context.print_json({{"tokens", boost::json::array(prompt.begin(), prompt.end())},
                        {"logits", std::move(rows)}});
    return {};
}

/// The tokenizer beside an exported model or a state, unless the command line names one; a model of
/// 256 tokens is one of bytes.
void use_own_tokenizer(GenerateOptions& options, const Model& model) {
    const bool named = !options.tokenizer.path.empty() || !options.sentence_piece.empty();
    const program::SlotId logits = model.program.find_output(program::kLogitsOutput);
    if (named || logits == program::kNoSlot ||
        model.program.slot(logits).dims.back() == blob::kByteVocabulary)
        return;
    std::error_code ignored;
    if (options.model.empty()) {
        const std::filesystem::path beside = tokenizer::bundle_path(options.state);
        if (!std::filesystem::exists(beside, ignored)) return;
        const auto bundle = tokenizer::load_bundle(beside);
        const bool is_pieces =
            bundle.ok() && std::ranges::none_of(bundle->files, [](const auto& file) {
                return file.name == "tokenizer.json";
            });
        if (is_pieces)
            print_notice("warning",
                         "the data's tokenizer is a SentencePiece model: name it with "
                         "--sentencepiece");
        else
            options.tokenizer.path = beside.string();
        return;
    }
    const std::filesystem::path folder(options.model);
    if (std::filesystem::exists(folder / "tokenizer.json", ignored))
        options.tokenizer.path = options.model;
    else if (std::filesystem::exists(folder / "tokenizer.model", ignored))
        options.sentence_piece = (folder / "tokenizer.model").string();
    else
        print_notice("warning",
                     "{} has no tokenizer, and its {} tokens are not bytes: the prompt's bytes are "
                     "taken for tokens; name the tokenizer of its data with --tokenizer or "
                     "--sentencepiece, or write --tokenizer bytes if its data is bytes",
                     options.model, model.program.slot(logits).dims.back());
}

Status generate(const CliContext& context, GenerateOptions options) {
    if (options.prompt.empty()) options.prompt = kNoPrompt;
    GYM_TRY(const Model model, read_model(options));
    use_own_tokenizer(options, model);
    options.generate.seed = parse_seed(options.seed);
    GYM_TRY(const auto prompt, prompt_tokens(options));
    if (options.logits) return print_logits(context, options, model, prompt);
    GYM_TRY(const auto tokens,
            engine::generate(model.program, model.state, prompt, options.generate));
    boost::json::object out{{"prompt", options.prompt},
                            {"tokens", boost::json::array(tokens.begin(), tokens.end())}};
    const auto text = text_of(options, prompt, tokens);
    // Tokens of a model of pieces are still tokens without the model that says what they spell.
    const bool tokens_will_do =
        context.json && options.sentence_piece.empty() && options.tokenizer.path.empty();
    if (!text.ok() && !tokens_will_do) return text.error();
    if (context.json) {
        if (text.ok() && is_utf8(*text)) out["text"] = *text;
        context.print_json(out);
        return {};
    }
    (void)std::fwrite(text->data(), 1, text->size(), stdout);  // may hold zero bytes
    std::printf("\n");
    return {};
}

}  // namespace

void add_generate_command(CLI::App& app, CliContext& context) {
    CLI::App* command = app.add_subcommand("generate", "Continue a text with a trained model");
    auto options = std::make_shared<GenerateOptions>();
    command->add_option("program", options->program, "Program file");
    command->add_option("--state", options->state, "State file");
    command->add_option("--model", options->model,
                        "Folder of an exported model, in the place of program and state");
    command->add_option("--prompt", options->prompt, "Text to continue (default: a line feed)");
    command->add_option("--tokens", options->generate.tokens, "Number of tokens to append")
        ->capture_default_str();
    command
        ->add_option("--temperature", options->generate.temperature,
                     "Temperature of sampling; 0 always takes the most likely token")
        ->capture_default_str();
    command
        ->add_option("--top-k", options->generate.top_k,
                     "Sample among the k most likely tokens; 0: all")
        ->capture_default_str();
    add_tokenizer_options(*command, options->tokenizer);
    command
        ->add_option("--sentencepiece", options->sentence_piece, "SentencePiece model of the data")
        ->excludes("--tokenizer");
    command->add_flag("--logits", options->logits,
                      "Print the scores of the next token after each token of the prompt, instead "
                      "of a continuation (needs --json)");
    command->add_option("--seed", options->seed, "Seed of the sampling")->capture_default_str();
    add_engine_options(*command, options->generate.engine);
    command->callback([&context, options] { context.finish(generate(context, *options)); });
}

}  // namespace gym::app
