#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gym/common/bytes.hpp"
#include "gym/common/function_ref.hpp"
#include "gym/common/result.hpp"
#include "gym/engine/state.hpp"
#include "gym/interchange/safetensors.hpp"
#include "gym/program/program.hpp"

/// Parameters of a program under the names that other software uses for them.
namespace gym::interchange {

/// "gym" (a program's own names), and those of Hugging Face's classes: "gpt2" (GPT2LMHeadModel),
/// "llama" (LlamaForCausalLM, MistralForCausalLM), "qwen2" (Qwen2ForCausalLM), "qwen3"
/// (Qwen3ForCausalLM), "bert" (BertForMaskedLM), "bert-classifier" (BertForSequenceClassification),
/// "bert-embedding" (BertModel without its pooler).
[[nodiscard]] std::vector<std::string> naming_names();

/// The naming that fits all parameters of `program`; "gym" if no other does.
[[nodiscard]] std::string naming_of(const program::Program& program);

struct NamedWeights {
    std::string name;
    std::vector<std::uint64_t> dims;
    Bytes bytes;  ///< f32, row-major, little-endian
};

/// The parameters in `state` (a training state or a base state) under the names of `naming`.
/// GPT-2 has biases everywhere, Qwen2 on queries, keys and values, a BERT's classifier one: a
/// program without them gets zeros, as do a BERT's two segments.
/// @errors kInvalidArgument for a naming that does not exist or fit, kShapeMismatch for a state of
/// another program.
[[nodiscard]] Result<std::vector<NamedWeights>> export_weights(const program::Program& program,
                                                               const engine::State& state,
                                                               std::string_view naming);

/// What for_each_weight() gives, in its order: names, dtypes (F32) and dims, without bytes.
/// @errors kInvalidArgument as above.
[[nodiscard]] Result<std::vector<SafetensorsEntry>> outline_weights(const program::Program& program,
                                                                    std::string_view naming);

/// Gives `take` the tensors of export_weights() one after the other; their bytes live as long as
/// the call. Takes memory for one tensor beside the state. Ends at the first error of `take`.
/// @errors as export_weights(), those of `take`.
Status for_each_weight(const program::Program& program, const engine::State& state,
                       std::string_view naming, FunctionRef<Status(const SafetensorsEntry&)> take);

/// Writes a safetensors file of these tensors, one tensor at a time; all of it appears at once.
/// @return how many. @errors as export_weights(), kIo.
Result<std::size_t> write_weights(const std::filesystem::path& path,
                                  const program::Program& program, const engine::State& state,
                                  std::string_view naming,
                                  const std::map<std::string, std::string>& metadata);

/// The base state of `program` with weights of F32, F16 or BF16 (widened exactly); a NaN takes the
/// encoding of docs/NUMERICS.md. Names with and without "transformer." or "model." are understood;
/// buffers that hold no weights are passed over; an output layer that repeats tied embeddings must
/// equal them. What a BERT adds to the tokens of its first segment is added to the positions.
/// @errors kInvalidArgument as above; all missing, reshaped and unused tensors together, as
/// engine::Differences; kMalformed for dtypes that are no weights, and biases other than zero that
/// the program has no place for. Each names the tensor.
[[nodiscard]] Result<engine::State> import_weights(const program::Program& program,
                                                   std::span<const SafetensorsEntry> tensors,
                                                   std::string_view naming);

}  // namespace gym::interchange
