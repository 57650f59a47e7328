#pragma once

#include "gym/common/result.hpp"
#include "gym/data/build.hpp"
#include "gym/data/build_words.hpp"
#include "gym/data/encoder.hpp"

namespace CLI {
class App;
}

namespace gym::app {

struct CliContext;

/// Adds the inputs and all options but -o and --context.
void add_pipeline_options(CLI::App& command, data::BuildWords& words);

/// Builds; an interrupt ends it. @param quiet without a progress line on standard error.
/// @errors those of data::build().
[[nodiscard]] Result<data::BuildReport> build_dataset(data::BuildOptions options, bool quiet);

/// Builds, and prints what every step removed.
[[nodiscard]] Status run_pipeline(const CliContext& context, const data::BuildWords& words,
                                  const data::EncoderFactory& encoder);

}  // namespace gym::app
