#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "gym/common/result.hpp"
#include "gym/program/train_program.hpp"

/// Hugging Face's config.json, read and written: GPT2Config, LlamaConfig, MistralConfig,
/// Qwen2Config, Qwen3Config, BertConfig (huggingface.co/docs/transformers, "Models"). One table of
/// members serves both directions.
namespace gym::interchange {

/// The model that `config` describes. Members about training and generation are passed over:
/// dropout is 0 and initial weights keep their deviation.
/// @param context tokens of a window, where they are to be fewer than the config's positions (not
/// of a GPT-2 or a BERT, which have a weight for each position); 0: as many.
/// @errors kInvalidArgument naming the member and what it would have to be: other model types,
/// activations, kinds of rotary scaling, biases, windows of attention that are shorter than the
/// context, quantised weights, more tokens or positions than a program can have.
[[nodiscard]] Result<program::ModelConfig> model_config_of(const boost::json::object& config,
                                                           std::uint32_t context = 0);
/// The same of a file's text. @errors also kMalformed for what is not a JSON object.
[[nodiscard]] Result<program::ModelConfig> parse_hf_config(std::string_view text,
                                                           std::uint32_t context = 0);

/// The config of `model` as gpt2, llama, with qkv_bias qwen2, with qk_norm qwen3, or bert: what
/// from_pretrained needs beside weights that export_weights() wrote under the naming of this
/// `model_type`. The caller adds the tokenizer's members (bos_token_id, eos_token_id).
/// @errors kInvalidArgument for what Transformers compute otherwise: classifiers that are no bert
/// or pool by the mean, mlp and imported models.
[[nodiscard]] Result<boost::json::object> hf_config_of(const program::ModelConfig& model);

}  // namespace gym::interchange
