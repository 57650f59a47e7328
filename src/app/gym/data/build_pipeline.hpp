#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/data/build.hpp"
#include "gym/data/encoder.hpp"

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// `gym data build FILE... -o OUT` as it is typed.
struct PipelineOptions {
    std::vector<std::string> inputs;
    std::string output;
    std::uint32_t context = 0;  ///< 0: any length will do
    std::string steps = "default";
    std::string format = "auto";
    std::string documents = "file";
    std::string text_key, licence_key;
    std::vector<std::string> languages, licences;
    std::string licence;  ///< of documents that name none
    std::string opt_out_file;
    std::string index_memory = "1G";
    std::string s3_endpoint;
    std::uint64_t seed = 1;
    unsigned threads = 0;  ///< 0: one a core
    bool skip_malformed = false;
};

/// Adds the inputs and all options but -o and --context.
void add_pipeline_options(CLI::App& command, PipelineOptions& options);

/// What was built, and from what.
struct Built {
    data::BuildOptions options;
    data::BuildReport report;
};
/// Builds. @param quiet without a progress line on standard error. @errors those of data::build();
/// kInvalidArgument naming the option that cannot be used.
[[nodiscard]] Result<Built> build_dataset(const PipelineOptions& options,
                                          const data::EncoderFactory& encoder, bool quiet);

/// build_dataset(), and prints what every step removed.
[[nodiscard]] Status run_pipeline(const CliContext& context, const PipelineOptions& options,
                                  const data::EncoderFactory& encoder);

}  // namespace gym::app
