#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gym/blob/dataset.hpp"
#include "gym/common/bytes.hpp"
#include "gym/common/memory.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/saved_run.hpp"
#include "gym/engine/seed.hpp"
#include "gym/engine/state.hpp"
#include "gym/interchange/model_folder.hpp"
#include "gym/program/program.hpp"

namespace gym::app {

/// A file's bytes, or standard input's for "-".
[[nodiscard]] Result<Bytes> read_text(const std::string& path);

/// A dataset from a token file, or from a raw text (anything that does not begin like a token
/// file). @errors those of read_text() and blob::Dataset; kInvalidArgument for a folder, and for
/// a file whose name says that it holds documents (.jsonl, .parquet, .gz): they need
/// `gym data build`.
[[nodiscard]] Result<blob::Dataset> read_dataset(const std::string& path);

/// @errors those of read_file(); kInvalidArgument for a program that is not legal.
[[nodiscard]] Result<program::Program> read_program(const std::string& path);
/// @errors kOutOfRange also for a file that is larger than any state of `program`, or that this
/// machine's memory cannot hold twice: as a file and as tensors.
[[nodiscard]] Result<engine::State> read_state(const std::string& path);
[[nodiscard]] Result<engine::State> read_state(const std::string& path,
                                               const program::Program& program);

/// The files of a tokenizer, by the names that they have: those that are named, those in a folder,
/// or all in the file beside a token file or state (tokenizer::bundle_path()).
/// @errors those of read_file() and tokenizer::load_bundle().
[[nodiscard]] Result<std::vector<interchange::NamedFile>> read_tokenizer_files(
    const std::vector<std::string>& paths);

/// The state in `path` to train or evaluate `program` from; parameters alone (an import's weights,
/// a round's base state) begin with a fresh optimizer. Without a path: the initial state of `seed`.
[[nodiscard]] Result<engine::State> starting_state(const program::Program& program,
                                                   const std::string& path,
                                                   const std::string& seed);

/// A state file's content.
struct StateFile {
    engine::State state;
    /// The run that the state belongs to, without its state; none in the file of a state alone.
    std::optional<engine::SavedRun> run;
};
/// starting_state() together with what the file says of its run.
[[nodiscard]] Result<StateFile> starting_point(const program::Program& program,
                                               const std::string& path, const std::string& seed);

/// The state that begins with the weights in `path` (interchange::load_weights) and a fresh
/// optimizer.
[[nodiscard]] Result<engine::State> state_from_weights(const program::Program& program,
                                                       const std::string& path);

/// Success if `path` can be written, or is empty: asked before hours of work, not after.
/// @errors kIo naming the path.
[[nodiscard]] Status check_output(const std::string& path);
/// check_output(), and that `path` is none of the files that the command reads: it would destroy
/// what it was made from. Empty names are passed over. @errors kIo; kInvalidArgument.
[[nodiscard]] Status check_output(const std::string& path, std::span<const std::string> inputs);
/// check_output(), and that no training run is in the file. @errors kIo; kConflict.
[[nodiscard]] Status check_holds_no_run(const std::string& path);
/// Whether both name one file that exists.
[[nodiscard]] bool same_file(const std::string& a, const std::string& b);

using engine::parse_seed;

}  // namespace gym::app
