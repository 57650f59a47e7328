#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "cli_context.hpp"
#include "gym/engine/generate.hpp"
#include "inputs.hpp"

namespace gym::app {
namespace {

struct Options {
    std::string program;
    std::string state;
    std::string prompt = "\n";
    std::string seed = "0";
    engine::GenerateOptions generate;
};

Status generate(const CliContext& context, Options options) {
    GYM_TRY(const auto program, read_program(options.program));
    GYM_TRY(const auto state, read_state(options.state));
    options.generate.seed = parse_seed(options.seed);
    const std::vector<std::int32_t> prompt = [&] {
        const ByteView bytes = as_bytes(options.prompt);
        return std::vector<std::int32_t>(bytes.begin(), bytes.end());
    }();
    GYM_TRY(const auto tokens, engine::generate(program, state, prompt, options.generate));
    std::string text;
    for (const std::int32_t token : tokens)
        text += static_cast<char>(token);
    if (context.json) {
        boost::json::array ids(tokens.begin(), tokens.end());
        context.print_json({{"prompt", options.prompt}, {"tokens", std::move(ids)}});
        return {};
    }
    std::printf("%s%s\n", options.prompt.c_str(), text.c_str());
    return {};
}

}  // namespace

void add_generate_command(CLI::App& app, CliContext& context) {
    CLI::App* command =
        app.add_subcommand("generate", "Continue a text with a trained model of bytes");
    auto options = std::make_shared<Options>();
    command->add_option("program", options->program, "Program file")->required();
    command->add_option("--state", options->state, "State file")->required();
    command->add_option("--prompt", options->prompt, "Text to continue");
    command->add_option("--tokens", options->generate.tokens, "How many tokens to append");
    command->add_option("--temperature", options->generate.temperature,
                        "0: always the most likely token");
    command->add_option("--top-k", options->generate.top_k,
                        "Sample among the k most likely; 0: all");
    command->add_option("--seed", options->seed, "Seed of the sampling");
    add_engine_options(*command, options->generate.engine);
    command->callback([&context, options] { context.finish(generate(context, *options)); });
}

}  // namespace gym::app
