#include "folder_config.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "gym/interchange/hf_config.hpp"
#include "gym/interchange/weights.hpp"
#include "gym/program/recognise.hpp"
#include "gym/program/train_program.hpp"

namespace gym::interchange {
namespace {

namespace json = boost::json;
using program::ModelConfig;
using program::Program;

json::value id_or_null(const std::optional<std::uint32_t>& token) {
    return token ? json::value(*token) : json::value(nullptr);
}

/// One line for people.
std::string describe(const ModelConfig& c, const std::string& type) {
    const std::uint32_t kv_heads = c.kv_heads == 0 ? c.heads : c.kv_heads;
    std::string text = type == "gpt2"    ? "GPT-2"
                       : type == "qwen2" ? "Qwen2"
                       : type == "qwen3" ? "Qwen3"
                                         : "Llama";
    text += " decoder: " + std::to_string(c.layers) + " blocks of width " +
            std::to_string(c.width) + ", " + std::to_string(c.heads) + " heads";
    if (kv_heads != c.heads) text += " (" + std::to_string(kv_heads) + " of keys and values)";
    return text + ", context " + std::to_string(c.context) + ", vocabulary " +
           std::to_string(c.vocabulary) + (c.tied_embeddings ? ", tied" : ", untied") +
           " output layer";
}

/// Null where there is none: transformers take GPT-2's own otherwise.
void add_special(const SpecialTokens& special, json::object& config) {
    config["bos_token_id"] = id_or_null(special.begin);
    config["eos_token_id"] = id_or_null(special.end);
    config["pad_token_id"] = id_or_null(special.padding);
}

/// Of a program that transformers have no model for.
FolderConfig own_config(const Program& program) {
    FolderConfig out;
    out.names = "gym";
    const program::SlotId batch = program.find_slot(program::kBatchInput);
    if (batch != program::kNoSlot && program.slot(batch).dims.size() == 2)
        out.context = program.slot(batch).dims[1] - 1;
    const program::SlotId logits = program.find_output(program::kLogitsOutput);
    const bool classifies = program::has_labels(program);
    const std::uint32_t scores = logits == program::kNoSlot ? 0 : program.slot(logits).dims.back();
    if (!classifies) out.vocabulary = scores;
    const bool encodes = !classifies && program::reads_both_ways(program);
    out.kind = classifies ? FolderConfig::Kind::kClassifies
               : encodes  ? FolderConfig::Kind::kEncodes
                          : FolderConfig::Kind::kContinues;
    out.architecture = classifies ? "classifier of rows of " + std::to_string(out.context) +
                                        " tokens, " + std::to_string(scores) + " classes"
                       : encodes ? "encoder, context " + std::to_string(out.context)
                                 : "a program of its own, context " + std::to_string(out.context);
    out.config = {{"architectures", json::array{"GymProgram"}},
                  {"model_type", "gym"},
                  {"task", classifies ? "classification"
                           : encodes  ? "encoding"
                                      : "generation"},
                  {"program", "program.gym"},
                  {"context", out.context},
                  {classifies ? "num_labels" : "vocab_size", scores},
                  {"torch_dtype", "float32"}};
    return out;
}

/// A BERT: no text is generated with it.
std::optional<FolderConfig> encoder_config(const Program& program, const SpecialTokens& special) {
    const auto encoder = program::recognise_encoder(program);
    if (!encoder) return std::nullopt;
    const auto config = hf_config_of(*encoder);
    if (!config.ok()) return std::nullopt;
    FolderConfig out;
    out.config = *config;
    out.names = naming_of(program);
    if (special.padding && !encoder->padding_token) out.config["pad_token_id"] = *special.padding;
    out.vocabulary = encoder->vocabulary;
    out.context = static_cast<std::uint32_t>(
        out.config.at("max_position_embeddings").to_number<std::uint64_t>());
    using program::Task;
    out.auto_class = "AutoModelForSequenceClassification";
    out.pipeline = "text-classification";
    if (encoder->task == Task::kMasked) {
        out.auto_class = "AutoModelForMaskedLM";
        out.pipeline = "fill-mask";
    } else if (encoder->task == Task::kEmbed) {
        out.auto_class = "AutoModel";
        out.pipeline = "feature-extraction";
    }
    out.architecture = "BERT encoder (" +
                       std::string(out.config.at("architectures").at(0).as_string()) +
                       "): " + std::to_string(encoder->layers) + " blocks of width " +
                       std::to_string(encoder->width) + ", " + std::to_string(encoder->heads) +
                       " heads, context " + std::to_string(out.context) + ", vocabulary " +
                       std::to_string(encoder->vocabulary);
    return out;
}

}  // namespace

FolderConfig folder_config(const Program& program, const SpecialTokens& special) {
    if (auto encoder = encoder_config(program, special)) return *std::move(encoder);
    const auto decoder = program::recognise_decoder(program);
    if (!decoder) return own_config(program);
    const auto config = hf_config_of(*decoder);
    if (!config.ok()) return own_config(program);
    FolderConfig out;
    out.config = *config;
    out.names = std::string(out.config.at("model_type").as_string());
    SpecialTokens all = special;
    if (decoder->padding_token) all.padding = decoder->padding_token;
    add_special(all, out.config);
    out.config["torch_dtype"] = "float32";
    out.config["use_cache"] = true;
    add_special(all, out.generate);
    out.generate["do_sample"] = true;
    out.generate["temperature"] = 0.8;
    out.generate["max_length"] = decoder->context;
    out.auto_class = "AutoModelForCausalLM";
    out.pipeline = "text-generation";
    out.architecture = describe(*decoder, out.names);
    out.vocabulary = decoder->vocabulary;
    out.context = decoder->context;
    return out;
}

std::string json_lines(const json::object& object) {
    std::string text = "{";
    for (const auto& member : object) {
        text += text.size() == 1 ? "\n  " : ",\n  ";
        text += json::serialize(json::value(member.key())) + ": " + json::serialize(member.value());
    }
    return text + "\n}\n";
}

}  // namespace gym::interchange
