#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gym/common/result.hpp"
#include "gym/plan/draft.hpp"
#include "gym/plan/facts.hpp"
#include "tokenizer/tokenizer_input.hpp"

namespace CLI {
class App;
}

namespace gym::app {

/// A job as the command line describes it: a job file, options in its place, or both. Options win.
struct JobRequest {
    std::string file;
    std::string name;
    std::string model;
    std::string data;
    std::string init;  ///< as in a job file: weights to begin from
    TokenizerOptions tokenizer;
    std::string tokens;
    std::string nodes;
    std::string max_cost;
    std::string within;
    std::string price;
    std::string use;  ///< what the weights are for
    bool documents_apart = false;
    std::vector<std::string> sets;  ///< KEY=VALUE

    void add_to(CLI::App& command);
};

/// The text of a job file, complete or not, and what its relative paths are relative to.
struct JobText {
    YamlText text;
    std::filesystem::path folder;
    std::vector<std::string> model_sets = {};  ///< KEY=VALUE below `model`, for when it is inlined
    TokenizerOptions tokenizer = {};           ///< of a dataset that is a text
    bool quiet = false;                        ///< no lines on standard error
    /// The model's document_separator is the token between the documents of the data.
    bool documents_apart = false;
};
/// @errors kIo, kNotFound for the file or the preset; kInvalidArgument for an option that is not
/// what it should be, or if neither a job file nor a model and data are named.
[[nodiscard]] Result<JobText> job_text(const JobRequest& request);

/// Carries out `model_sets`. Precondition: the model is inlined. @errors kInvalidArgument.
Status set_model_keys(YamlText& text, const JobText& job);

}  // namespace gym::app
