#include "naming.hpp"

#include <algorithm>
#include <optional>

namespace gym::interchange {
namespace {

using program::Program;
using program::Slot;
using program::SlotId;
using program::SlotKind;

/// Of Llama, and of Mistral, which has the same names.
Naming llama_naming(std::string_view name) {
    return {name,
            "model.",
            {{"token_embedding", {"model.embed_tokens.weight"}},
             {"blocks.#.norm1.gamma", {"model.layers.#.input_layernorm.weight"}},
             {"blocks.#.attention.qkv.weight",
              {"model.layers.#.self_attn.q_proj.weight", "model.layers.#.self_attn.k_proj.weight",
               "model.layers.#.self_attn.v_proj.weight"},
              Form::kStackedQkv},
             {"blocks.#.attention.out.weight", {"model.layers.#.self_attn.o_proj.weight"}},
             {"blocks.#.norm2.gamma", {"model.layers.#.post_attention_layernorm.weight"}},
             {"blocks.#.mlp.gate.weight", {"model.layers.#.mlp.gate_proj.weight"}},
             {"blocks.#.mlp.up.weight", {"model.layers.#.mlp.up_proj.weight"}},
             {"blocks.#.mlp.down.weight", {"model.layers.#.mlp.down_proj.weight"}},
             {"final_norm.gamma", {"model.norm.weight"}},
             {"head", {"lm_head.weight"}}},
            "token_embedding",
            "lm_head.weight",
            {".rotary_emb.inv_freq"}};
}

/// Of Llama, with biases on queries, keys and values.
Naming qwen2_naming() {
    Naming naming = llama_naming("qwen2");
    naming.rules.push_back(
        {"blocks.#.attention.qkv.bias",
         {"model.layers.#.self_attn.q_proj.bias", "model.layers.#.self_attn.k_proj.bias",
          "model.layers.#.self_attn.v_proj.bias"},
         Form::kStackedBias});
    return naming;
}

/// Of Llama, with norms on the heads of queries and keys.
Naming qwen3_naming() {
    Naming naming = llama_naming("qwen3");
    std::erase_if(naming.rules,
                  [](const NameRule& rule) { return rule.form == Form::kStackedQkv; });
    const std::vector<NameRule> attention{
        {"blocks.#.attention.q.weight", {"model.layers.#.self_attn.q_proj.weight"}},
        {"blocks.#.attention.k.weight", {"model.layers.#.self_attn.k_proj.weight"}},
        {"blocks.#.attention.v.weight", {"model.layers.#.self_attn.v_proj.weight"}},
        {"blocks.#.attention.q_norm.gamma", {"model.layers.#.self_attn.q_norm.weight"}},
        {"blocks.#.attention.k_norm.gamma", {"model.layers.#.self_attn.k_norm.weight"}}};
    naming.rules.insert(naming.rules.end(), attention.begin(), attention.end());
    return naming;
}

constexpr std::string_view kBertTokens = "bert.embeddings.word_embeddings.weight";

/// BertModel alone, of which vectors are made.
Naming bert_naming(std::string_view name) {
    return {
        name,
        "bert.",
        {{"token_embedding", {kBertTokens}},
         {"position_embedding", {"bert.embeddings.position_embeddings.weight"}},
         {"embedding_norm.gamma", {"bert.embeddings.LayerNorm.weight"}},
         {"embedding_norm.beta", {"bert.embeddings.LayerNorm.bias"}},
         {"blocks.#.attention.qkv.weight",
          {"bert.encoder.layer.#.attention.self.query.weight",
           "bert.encoder.layer.#.attention.self.key.weight",
           "bert.encoder.layer.#.attention.self.value.weight"},
          Form::kStackedQkv},
         {"blocks.#.attention.qkv.bias",
          {"bert.encoder.layer.#.attention.self.query.bias",
           "bert.encoder.layer.#.attention.self.key.bias",
           "bert.encoder.layer.#.attention.self.value.bias"},
          Form::kStackedBias},
         {"blocks.#.attention.out.weight", {"bert.encoder.layer.#.attention.output.dense.weight"}},
         {"blocks.#.attention.out.bias", {"bert.encoder.layer.#.attention.output.dense.bias"}},
         {"blocks.#.norm1.gamma", {"bert.encoder.layer.#.attention.output.LayerNorm.weight"}},
         {"blocks.#.norm1.beta", {"bert.encoder.layer.#.attention.output.LayerNorm.bias"}},
         {"blocks.#.mlp.up.weight", {"bert.encoder.layer.#.intermediate.dense.weight"}},
         {"blocks.#.mlp.up.bias", {"bert.encoder.layer.#.intermediate.dense.bias"}},
         {"blocks.#.mlp.down.weight", {"bert.encoder.layer.#.output.dense.weight"}},
         {"blocks.#.mlp.down.bias", {"bert.encoder.layer.#.output.dense.bias"}},
         {"blocks.#.norm2.gamma", {"bert.encoder.layer.#.output.LayerNorm.weight"}},
         {"blocks.#.norm2.beta", {"bert.encoder.layer.#.output.LayerNorm.bias"}}},
        "token_embedding",
        "cls.predictions.decoder.weight",
        {"embeddings.position_ids", "pooler.dense.weight", "pooler.dense.bias",
         "cls.seq_relationship.weight", "cls.seq_relationship.bias", "cls.predictions.bias",
         "cls.predictions.decoder.bias", "cls.predictions.transform.dense.weight",
         "cls.predictions.transform.dense.bias", "cls.predictions.transform.LayerNorm.weight",
         "cls.predictions.transform.LayerNorm.bias"},
        "bert.embeddings.token_type_embeddings.weight"};
}

/// BertForMaskedLM.
Naming bert_masked_naming() {
    Naming naming = bert_naming("bert");
    naming.buffers = {"embeddings.position_ids",   "pooler.dense.weight",
                      "pooler.dense.bias",         "cls.seq_relationship.weight",
                      "cls.seq_relationship.bias", "cls.predictions.decoder.bias"};
    const std::vector<NameRule> head{
        {"transform.weight", {"cls.predictions.transform.dense.weight"}},
        {"transform.bias", {"cls.predictions.transform.dense.bias"}},
        {"transform_norm.gamma", {"cls.predictions.transform.LayerNorm.weight"}},
        {"transform_norm.beta", {"cls.predictions.transform.LayerNorm.bias"}},
        {"head", {"cls.predictions.decoder.weight"}},
        {"head.bias", {"cls.predictions.bias"}}};
    naming.rules.insert(naming.rules.end(), head.begin(), head.end());
    return naming;
}

/// BertForSequenceClassification: classes, or one score of a pair.
Naming bert_classifier_naming() {
    Naming naming = bert_naming("bert-classifier");
    naming.buffers = {"embeddings.position_ids"};
    naming.pairs = true;
    const std::vector<NameRule> head{{"pooler.weight", {"bert.pooler.dense.weight"}},
                                     {"pooler.bias", {"bert.pooler.dense.bias"}},
                                     {"head.weight", {"classifier.weight"}},
                                     {"head", {"classifier.weight"}},
                                     {"head.bias", {"classifier.bias"}, Form::kBias}};
    naming.rules.insert(naming.rules.end(), head.begin(), head.end());
    return naming;
}

std::vector<Naming> make_namings() {
    return {
        {"gpt2",
         "transformer.",
         {{"token_embedding", {"transformer.wte.weight"}},
          {"position_embedding", {"transformer.wpe.weight"}},
          {"blocks.#.norm1.gamma", {"transformer.h.#.ln_1.weight"}},
          {"blocks.#.norm1.beta", {"transformer.h.#.ln_1.bias"}},
          {"blocks.#.attention.qkv.weight",
           {"transformer.h.#.attn.c_attn.weight"},
           Form::kTransposed},
          {"blocks.#.attention.qkv.bias", {"transformer.h.#.attn.c_attn.bias"}, Form::kBias},
          {"blocks.#.attention.out.weight",
           {"transformer.h.#.attn.c_proj.weight"},
           Form::kTransposed},
          {"blocks.#.attention.out.bias", {"transformer.h.#.attn.c_proj.bias"}, Form::kBias},
          {"blocks.#.norm2.gamma", {"transformer.h.#.ln_2.weight"}},
          {"blocks.#.norm2.beta", {"transformer.h.#.ln_2.bias"}},
          {"blocks.#.mlp.up.weight", {"transformer.h.#.mlp.c_fc.weight"}, Form::kTransposed},
          {"blocks.#.mlp.up.bias", {"transformer.h.#.mlp.c_fc.bias"}, Form::kBias},
          {"blocks.#.mlp.down.weight", {"transformer.h.#.mlp.c_proj.weight"}, Form::kTransposed},
          {"blocks.#.mlp.down.bias", {"transformer.h.#.mlp.c_proj.bias"}, Form::kBias},
          {"final_norm.gamma", {"transformer.ln_f.weight"}},
          {"final_norm.beta", {"transformer.ln_f.bias"}},
          {"head", {"lm_head.weight"}}},
         "token_embedding",
         "lm_head.weight",
         {".attn.bias", ".attn.masked_bias"}},
        llama_naming("llama"),
        qwen2_naming(),
        qwen3_naming(),
        bert_naming("bert-embedding"),  // first of the three: the others have its rules, too
        bert_masked_naming(),
        bert_classifier_naming(),
    };
}

std::string with_number(std::string_view pattern, std::string_view number) {
    const std::size_t at = pattern.find('#');
    if (at == std::string_view::npos) return std::string(pattern);
    return std::string(pattern.substr(0, at)) + std::string(number) +
           std::string(pattern.substr(at + 1));
}

/// The block's number in `name` if `pattern` fits it; empty where the pattern has no number.
std::optional<std::string> match(std::string_view pattern, std::string_view name) {
    const std::size_t at = pattern.find('#');
    if (at == std::string_view::npos) {
        if (pattern != name) return std::nullopt;
        return std::string();
    }
    const std::string_view front = pattern.substr(0, at), back = pattern.substr(at + 1);
    if (name.size() <= front.size() + back.size() || !name.starts_with(front) ||
        !name.ends_with(back))
        return std::nullopt;
    name = name.substr(front.size(), name.size() - front.size() - back.size());
    const bool digits = std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) return std::nullopt;
    return std::string(name);
}

BoundRule put_in(const NameRule& rule, std::string_view number) {
    BoundRule bound{with_number(rule.ours, number), {}, rule.form};
    for (const std::string_view theirs : rule.theirs)
        bound.theirs.push_back(with_number(theirs, number));
    return bound;
}

/// Rows of `slot` that are queries: as many as the outputs of the program's attention, but for the
/// column that a model with padding adds to every head. 0: the slot is no stack of queries and as
/// many keys as values.
std::uint64_t query_rows(const Program& program, const Slot& slot) {
    const auto attention =
        std::ranges::find(program.ops(), program::Opcode::kAttention, &program::Op::code);
    if (attention == program.ops().end()) return 0;
    const std::uint64_t heads = attention->attributes[1];
    const bool padded = program.slot(attention->inputs[0]).dims.back() == slot.dims[0] + 3 * heads;
    const std::uint64_t rows =
        program.slot(attention->outputs[0]).dims.back() - (padded ? heads : 0);
    const bool fits = slot.dims[0] > rows && (slot.dims[0] - rows) % 2 == 0;
    return fits ? rows : 0;
}

bool stacked(Form form) {
    return form == Form::kStackedQkv || form == Form::kStackedBias;
}

/// Puts the slot into the rule, if it fits.
bool place(const Program& program, SlotId id, BoundRule& rule) {
    const Slot& slot = program.slot(id);
    const bool matrix = rule.form == Form::kTransposed || rule.form == Form::kStackedQkv;
    if (slot.dims.size() != (matrix ? 2 : rule.form == Form::kSame ? slot.dims.size() : 1))
        return false;
    rule.slot = id;
    if (!stacked(rule.form)) return true;
    rule.query_rows = query_rows(program, slot);
    return rule.query_rows != 0;
}

std::optional<BoundRule> rule_for(const Naming& naming, const Program& program, SlotId id) {
    for (const NameRule& rule : naming.rules) {
        const auto number = match(rule.ours, program.slot(id).name);
        if (!number) continue;
        BoundRule bound = put_in(rule, *number);
        if (place(program, id, bound)) return bound;
    }
    return std::nullopt;
}

bool is_bias(Form form) {
    return form == Form::kBias || form == Form::kStackedBias;
}

/// The biases that stand beside weights of `program` in their software alone.
void add_missing_biases(const Naming& naming, const Program& program,
                        std::vector<BoundRule>& rules) {
    constexpr std::string_view kWeight = ".weight";
    for (const SlotId id : program.slots_of(SlotKind::kParam)) {
        const std::string& name = program.slot(id).name;
        const std::size_t stem = name.ends_with(kWeight) ? kWeight.size() : 0;
        const std::string bias = name.substr(0, name.size() - stem) + ".bias";
        if (program.find_slot(bias) != program::kNoSlot) continue;
        for (const NameRule& rule : naming.rules) {
            const auto number = is_bias(rule.form) ? match(rule.ours, bias) : std::nullopt;
            if (!number) continue;
            rules.push_back(put_in(rule, *number));
            rules.back().beside = id;
            if (stacked(rule.form)) rules.back().query_rows = query_rows(program, program.slot(id));
        }
    }
}

}  // namespace

std::span<const Naming> namings() {
    static const std::vector<Naming> all = make_namings();
    return all;
}

std::vector<BoundRule> bind(const Naming& naming, const Program& program) {
    std::vector<BoundRule> rules;
    for (const SlotId id : program.slots_of(SlotKind::kParam)) {
        auto rule = rule_for(naming, program, id);
        if (!rule) return {};
        rules.push_back(*std::move(rule));
    }
    add_missing_biases(naming, program, rules);
    if (naming.segments.empty()) return rules;
    rules.push_back(
        {std::string(naming.segments), {std::string(naming.segments)}, Form::kSegments});
    rules.back().beside = program.find_slot(naming.tied_ours);
    return rules;
}

}  // namespace gym::interchange
