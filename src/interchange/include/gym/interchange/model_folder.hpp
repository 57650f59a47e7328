#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/state.hpp"
#include "gym/program/program.hpp"

/// A trained model as a folder that Hugging Face's from_pretrained() reads: config.json,
/// model.safetensors (f32), generation_config.json, README.md, a tokenizer, and what `gym` needs to
/// read it back: program.gym and gym.json with the roots. A decoder or encoder that train_program()
/// writes gets the names of its class in transformers (weights.hpp); every other program gets its
/// own names, and a config that says so.
namespace gym::interchange {

/// A text that the model was trained on.
struct CardDataset {
    Digest root;
    std::string name;     ///< may be empty
    std::string licence;  ///< an SPDX expression; empty: not known
};

/// The loss on the validation part after a round.
struct CardLoss {
    std::uint64_t round = 0;
    double nats_per_token = 0;
};

/// What README.md says about the model. Texts may come from strangers: control characters and
/// Markdown in them do nothing.
struct ModelCard {
    std::string name;
    std::optional<Digest> job;           ///< absent: trained locally
    std::optional<std::uint64_t> round;  ///< of the job, after which the weights are; 0: before all
    std::optional<std::uint64_t> rounds;
    std::vector<CardDataset> datasets;
    std::vector<CardLoss> losses;
    std::vector<std::string> checks;  ///< sentences: what the weights were compared with
    /// Sentences: where the tokenizer's files come from, and what of them nobody checked.
    std::vector<std::string> tokenizer_notes;
    bool byte_data = false;  ///< whether the tokens of its data are known to be bytes
};

/// A file beside the weights.
struct NamedFile {
    std::string name;  ///< without folders
    Bytes content;
};

struct ModelFolder {
    ModelCard card;
    /// Files of the model's tokenizer. None: a model of 256 tokens gets one of bytes, any other
    /// model a card that says that the tokenizer is missing.
    std::vector<NamedFile> tokenizer;
    std::optional<std::uint32_t> begin_token, end_token, padding_token;
};

struct WrittenFolder {
    std::string names;  ///< of the weights (naming_names())
    std::size_t tensors = 0;
    Digest program_root;
    Digest state_root;  ///< of the base state
    std::vector<std::string> files;
    /// Whether from_pretrained() of transformers takes it.
    bool for_transformers = false;
};

/// That a model may be written into `folder`: it is not there yet, empty, or holds a model that was
/// written before, all or in part. @errors kAlreadyExists for a folder with other files, kIo.
[[nodiscard]] Status check_model_folder(const std::filesystem::path& folder);

/// That `folder` holds no model of another job than `job`. @errors kAlreadyExists, kMalformed.
[[nodiscard]] Status check_no_other_job(const std::filesystem::path& folder, const Digest& job);

/// Bytes that write_model_folder() writes, a little more rather than less.
[[nodiscard]] std::uint64_t model_folder_bytes(const program::Program& program,
                                               const ModelFolder& model);

/// Makes `folder` if it is not there, and marks it as one that a model will be written into:
/// check_model_folder() accepts it, and a reader refuses it until write_model_folder() has ended. A
/// model that is there already stays. @errors as check_model_folder().
Status begin_model_folder(const std::filesystem::path& folder);

/// Writes the folder, tensor by tensor. Each file appears whole; gym.json, which a reader asks for,
/// comes last. The same input gives the same bytes.
/// @param state a base state or a training state of `program`; the parameters are written.
/// @errors those of check_model_folder(); kShapeMismatch for a state of another program;
/// kInvalidArgument for names of files; kIo.
Result<WrittenFolder> write_model_folder(const std::filesystem::path& folder,
                                         const program::Program& program,
                                         const engine::State& state, const ModelFolder& model);

struct ReadFolder {
    program::Program program;
    engine::State base;
    Digest program_root;
    Digest state_root;
    std::string name;                    ///< of the model; may be empty
    std::optional<Digest> job;           ///< absent: trained locally
    std::optional<std::uint64_t> round;  ///< of the job
};

/// The model in a folder that write_model_folder() wrote.
/// @errors kNotFound for a folder without a model; kConflict for one whose writing was interrupted;
/// kMalformed; kMismatch, with both roots, for a program or weights that were changed since (`gym
/// program import-weights` takes weights as they are).
[[nodiscard]] Result<ReadFolder> read_model_folder(const std::filesystem::path& folder);

}  // namespace gym::interchange
