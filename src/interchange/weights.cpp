#include "gym/interchange/weights.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "gym/common/file.hpp"
#include "gym/engine/state_layout.hpp"
#include "gym/kernels/f32.h"
#include "naming.hpp"

namespace gym::interchange {
namespace {

using program::Program;
using program::Slot;
using program::SlotId;
using program::SlotKind;

constexpr std::string_view kOwnNames = "gym";
constexpr std::uint64_t kSegments = 2;  // of a BERT, as tokenizers number them
using Dims = std::vector<std::uint64_t>;

std::string text_of(const Dims& dims) {
    std::string text = "[";
    for (std::size_t i = 0; i < dims.size(); ++i)
        text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
    return text + "]";
}

Result<std::vector<BoundRule>> rules_of(const Program& program, std::string_view naming) {
    std::vector<BoundRule> rules;
    if (naming == kOwnNames) {
        for (const SlotId id : program.slots_of(SlotKind::kParam))
            rules.push_back({program.slot(id).name, {program.slot(id).name}, Form::kSame, id});
        return rules;
    }
    const auto known = std::ranges::find(namings(), naming, &Naming::name);
    if (known == namings().end())
        return fail(ErrorCode::kInvalidArgument,
                    "unknown names '" + std::string(naming) +
                        "': gym, gpt2, llama, qwen2, qwen3, bert, bert-classifier "
                        "or bert-embedding");
    rules = bind(*known, program);
    if (rules.empty())
        return fail(ErrorCode::kInvalidArgument, "the program's parameters are not those of a " +
                                                     std::string(naming) + " model");
    return rules;
}

const Naming* naming_by_name(std::string_view name) {
    const auto found = std::ranges::find(namings(), name, &Naming::name);
    return found == namings().end() ? nullptr : &*found;
}

/// (rows, columns) -> (columns, rows).
Bytes transposed(ByteView bytes, std::uint64_t rows, std::uint64_t columns) {
    Bytes out(bytes.size());
    for (std::uint64_t r = 0; r < rows; ++r) {
        for (std::uint64_t c = 0; c < columns; ++c)
            std::memcpy(out.data() + (c * rows + r) * sizeof(float),
                        bytes.data() + (r * columns + c) * sizeof(float), sizeof(float));
    }
    return out;
}

/// The dims of their tensors that make up ours of `dims`.
std::vector<Dims> their_dims(const BoundRule& rule, const Dims& dims) {
    if (rule.form == Form::kTransposed) return {{dims[1], dims[0]}};
    if (rule.query_rows == 0) return {dims};
    std::vector<Dims> parts(3, dims);
    parts[0][0] = rule.query_rows;
    parts[1][0] = parts[2][0] = (dims[0] - rule.query_rows) / 2;
    return parts;
}

Dims dims_of(const Slot& slot) {
    return {slot.dims.begin(), slot.dims.end()};
}

std::uint64_t element_count(const Dims& dims) {
    std::uint64_t count = 1;
    for (const std::uint64_t dim : dims)
        count *= dim;
    return count;
}

// Their tensors -> ours.

float from_f16(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t exponent = bits >> 10 & 0x1FU, fraction = bits & 0x3FFU;
    if (exponent == 0x1F) return kernels::f32::from_bits(sign | 0x7F800000U | fraction << 13);
    if (exponent != 0)
        return kernels::f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;  // subnormal, or zero
    return sign != 0 ? -magnitude : magnitude;
}

/// A weight of any dtype that has one, as f32.
Result<Bytes> as_f32(const SafetensorsEntry& tensor) {
    const bool half = tensor.dtype == "F16", brain = tensor.dtype == "BF16";
    if (!half && !brain && tensor.dtype != "F32")
        return fail(ErrorCode::kMalformed, "tensor '" + tensor.name + "' is " + tensor.dtype +
                                               "; weights are F32, F16 or BF16");
    const std::uint64_t element_bytes = safetensors_element_bytes(tensor.dtype);
    const std::uint64_t count = tensor.bytes.size() / element_bytes;
    Bytes out(count * sizeof(float));
    for (std::uint64_t i = 0; i < count; ++i) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, tensor.bytes.data() + i * element_bytes, element_bytes);
        float value = half ? from_f16(static_cast<std::uint16_t>(bits))
                           : kernels::f32::from_bits(brain ? bits << 16 : bits);
        value = kernels::f32::canonical(value);
        std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
    }
    return out;
}

/// The tensors of a file by the names that the rules use.
class Source {
  public:
    Source(std::span<const SafetensorsEntry> tensors, const Naming* naming) : naming_(naming) {
        for (const SafetensorsEntry& tensor : tensors)
            by_name_[tensor.name] = &tensor;
    }

    /// nullptr if the file does not have it. With or without the naming's prefix.
    const SafetensorsEntry* take(const std::string& name) {
        auto found = by_name_.find(name);
        if (found == by_name_.end() && naming_ != nullptr && name.starts_with(naming_->prefix))
            found = by_name_.find(name.substr(naming_->prefix.size()));
        if (const std::string old = old_name(name); found == by_name_.end() && !old.empty())
            return take(old);
        if (found == by_name_.end()) return nullptr;
        used_.insert(found->first);
        return found->second;
    }
    /// Notes if a tensor of these dims is not there.
    void expect(const std::string& name, const Dims& dims, engine::Differences& differences) {
        const SafetensorsEntry* tensor = take(name);
        if (tensor == nullptr)
            differences.missing(name, text_of(dims));
        else if (tensor->dims != dims)
            differences.reshaped(tensor->name, text_of(tensor->dims), text_of(dims));
    }
    /// Notes the tensors that were not taken and are no buffers.
    void note_left_over(engine::Differences& differences) const {
        for (const auto& [name, tensor] : by_name_) {
            if (!used_.contains(name) && !is_buffer(name))
                differences.extra(name, tensor->dtype + " " + text_of(tensor->dims));
        }
    }

  private:
    /// As the first BERTs were written; empty for other names.
    static std::string old_name(const std::string& name) {
        for (const auto& [now, before] : {std::pair{"LayerNorm.weight", "LayerNorm.gamma"},
                                          std::pair{"LayerNorm.bias", "LayerNorm.beta"}})
            if (name.ends_with(now))
                return name.substr(0, name.size() - std::string_view(now).size()) + before;
        return {};
    }
    [[nodiscard]] bool is_buffer(const std::string& name) const {
        return naming_ != nullptr &&
               std::ranges::any_of(naming_->buffers, [&](auto end) { return name.ends_with(end); });
    }

    const Naming* naming_;
    std::map<std::string, const SafetensorsEntry*> by_name_;
    std::set<std::string> used_;
};

/// @pre check_tensors() found the rule's tensors.
Result<Bytes> read_parameter(Source& source, const BoundRule& rule, const Slot& slot) {
    const std::vector<Dims> dims = their_dims(rule, dims_of(slot));
    Bytes bytes;
    for (std::size_t part = 0; part < rule.theirs.size(); ++part) {
        GYM_TRY(const Bytes theirs, as_f32(*source.take(rule.theirs[part])));
        bytes.insert(bytes.end(), theirs.begin(), theirs.end());
    }
    if (rule.form != Form::kTransposed) return bytes;
    return transposed(bytes, dims[0][0], dims[0][1]);
}

/// The key of a model file that gives the program such a bias.
std::string bias_key(const BoundRule& rule) {
    return rule.form == Form::kStackedBias ? "qkv_bias" : "bias";
}

/// Every tensor that the rules name is there with its dims, and no other.
Status check_tensors(Source& source, const Naming* naming, const Program& program,
                     std::span<const BoundRule> rules) {
    engine::Differences differences;
    for (const BoundRule& rule : rules) {
        if (rule.slot == program::kNoSlot) {
            for (const std::string& name : rule.theirs)
                (void)source.take(name);  // check_zero() looks at it
            continue;
        }
        const std::vector<Dims> dims = their_dims(rule, dims_of(program.slot(rule.slot)));
        for (std::size_t part = 0; part < rule.theirs.size(); ++part)
            source.expect(rule.theirs[part], dims[part], differences);
    }
    if (naming != nullptr) (void)source.take(std::string(naming->tied_theirs));  // check_tied()
    source.note_left_over(differences);
    return differences.status();
}

/// A bias that the program has no place for.
Status check_zero(Source& source, const BoundRule& rule, const std::string& name) {
    const SafetensorsEntry* tensor = source.take(name);
    if (tensor == nullptr) return {};
    GYM_TRY(const Bytes bytes, as_f32(*tensor));
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(float)) {
        float value = 0;
        std::memcpy(&value, bytes.data() + i, sizeof value);
        if (!(value == 0))
            return fail(ErrorCode::kMalformed,
                        "tensor '" + tensor->name + "' is not zero, and the program has no '" +
                            rule.ours + "': build it with `" + bias_key(rule) + ": true`");
    }
    return {};
}

/// All tokens of a program are of the first segment, so its row belongs to each position.
/// @errors kMalformed for rows that differ where a window may have two segments, and for another
/// shape.
Status add_segments(Source& source, const Naming& naming, engine::State& base) {
    const SafetensorsEntry* tensor = source.take(std::string(naming.segments));
    if (tensor == nullptr) return {};
    const auto positions =
        std::ranges::find(base.tensors, "position_embedding", &engine::StateTensor::name);
    if (positions == base.tensors.end() || tensor->dims.size() != 2 || tensor->dims[0] == 0 ||
        tensor->dims[1] != positions->dims[1])
        return fail(ErrorCode::kShapeMismatch, "tensor '" + tensor->name + "' is " +
                                                   text_of(tensor->dims) +
                                                   ", not a row for each segment");
    GYM_TRY(const Bytes rows, as_f32(*tensor));
    const std::size_t row_bytes = tensor->dims[1] * sizeof(float);
    const ByteView first = ByteView(rows).first(row_bytes);
    for (std::size_t at = row_bytes; naming.pairs && at < rows.size(); at += row_bytes)
        if (!std::ranges::equal(first, ByteView(rows).subspan(at, row_bytes)))
            return fail(ErrorCode::kMalformed,
                        "tensor '" + tensor->name +
                            "' tells the two texts of a pair apart, which a program does not: it "
                            "would compute something else (docs/JOBS.md, \"Encoders\")");
    for (std::size_t at = 0; at < positions->bytes.size(); at += sizeof(float)) {
        float position = 0, segment = 0;
        std::memcpy(&position, positions->bytes.data() + at, sizeof position);
        std::memcpy(&segment, first.data() + at % row_bytes, sizeof segment);
        // Of zeros nothing changes, the sign of a zero neither.
        if (segment != 0) position += segment;
        std::memcpy(positions->bytes.data() + at, &position, sizeof position);
    }
    return {};
}

/// The output layer of a program with tied embeddings, if the file repeats them.
Status check_tied(Source& source, const Naming* naming, const Program& program,
                  const engine::State& base) {
    if (naming == nullptr) return {};
    const SafetensorsEntry* repeated = source.take(std::string(naming->tied_theirs));
    const engine::StateTensor* ours = base.find(naming->tied_ours);
    const bool tied = program.find_slot("head") == program::kNoSlot;
    if (repeated == nullptr || ours == nullptr || !tied) return {};
    GYM_TRY(const Bytes bytes, as_f32(*repeated));
    if (repeated->dims == ours->dims && bytes == ours->bytes) return {};
    return fail(ErrorCode::kMalformed,
                "tensor '" + repeated->name + "' is not the token embedding, and the program's " +
                    "output layer is: build it with `tied_embeddings: false`");
}

// Ours -> theirs.

/// What parameter `rule` becomes; entries without bytes.
std::vector<SafetensorsEntry> outline_of(const BoundRule& rule, const Program& program) {
    const bool missing = rule.slot == program::kNoSlot;
    const Dims ours = !missing ? dims_of(program.slot(rule.slot))
                      : rule.form == Form::kSegments
                          ? Dims{kSegments, program.slot(rule.beside).dims.back()}
                          : Dims{program.slot(rule.beside).dims.front()};
    const std::vector<Dims> dims = their_dims(rule, ours);
    std::vector<SafetensorsEntry> entries;
    for (std::size_t part = 0; part < rule.theirs.size(); ++part)
        entries.push_back({rule.theirs[part], "F32", dims[part], {}});
    return entries;
}

/// Gives `take` the tensors of outline_of(), one after the other, with their bytes.
Status give_parameter(const BoundRule& rule, const Program& program, const engine::State& state,
                      FunctionRef<Status(const SafetensorsEntry&)> take) {
    std::vector<SafetensorsEntry> entries = outline_of(rule, program);
    Bytes made;  // what is not in the state as it is
    ByteView left;
    if (rule.slot == program::kNoSlot) {
        for (const SafetensorsEntry& entry : entries)
            made.resize(made.size() + element_count(entry.dims) * sizeof(float));
        left = made;
    } else {
        left = state.find(rule.ours)->bytes;
        if (rule.form == Form::kTransposed) {
            made = transposed(left, entries[0].dims[1], entries[0].dims[0]);
            left = made;
        }
    }
    for (SafetensorsEntry& entry : entries) {
        const std::uint64_t size = element_count(entry.dims) * sizeof(float);
        entry.bytes = left.first(size);
        left = left.subspan(size);
        GYM_CHECK(take(entry));
    }
    return {};
}

/// That `state` has the parameters of `program`, whatever else it has.
Status check_parameters(const Program& program, const engine::State& state) {
    for (const SlotId id : program.slots_of(SlotKind::kParam)) {
        const Slot& slot = program.slot(id);
        const engine::StateTensor* tensor = state.find(slot.name);
        if (tensor == nullptr)
            return fail(ErrorCode::kShapeMismatch,
                        "the state has no tensor '" + slot.name + "': is it of another program?");
        if (tensor->dtype != slot.dtype || tensor->dims != dims_of(slot) ||
            tensor->bytes.size() != program::size_bytes(slot))
            return fail(ErrorCode::kShapeMismatch,
                        "tensor '" + slot.name + "' of the state is " + text_of(tensor->dims) +
                            ", the program's is " + text_of(dims_of(slot)));
    }
    return {};
}

}  // namespace

std::vector<std::string> naming_names() {
    std::vector<std::string> names{std::string(kOwnNames)};
    for (const Naming& naming : namings())
        names.emplace_back(naming.name);
    return names;
}

std::string naming_of(const Program& program) {
    for (const Naming& naming : namings()) {
        if (!bind(naming, program).empty()) return std::string(naming.name);
    }
    return std::string(kOwnNames);
}

Result<std::vector<SafetensorsEntry>> outline_weights(const Program& program,
                                                      std::string_view naming) {
    GYM_TRY(const auto rules, rules_of(program, naming));
    std::vector<SafetensorsEntry> entries;
    for (const BoundRule& rule : rules) {
        for (SafetensorsEntry& entry : outline_of(rule, program))
            entries.push_back(std::move(entry));
    }
    return entries;
}

Status for_each_weight(const Program& program, const engine::State& state, std::string_view naming,
                       FunctionRef<Status(const SafetensorsEntry&)> take) {
    GYM_TRY(const auto rules, rules_of(program, naming));
    GYM_CHECK(check_parameters(program, state));
    for (const BoundRule& rule : rules)
        GYM_CHECK(give_parameter(rule, program, state, take));
    return {};
}

Result<std::vector<NamedWeights>> export_weights(const Program& program, const engine::State& state,
                                                 std::string_view naming) {
    std::vector<NamedWeights> weights;
    const auto keep = [&](const SafetensorsEntry& tensor) -> Status {
        weights.push_back({tensor.name, tensor.dims, {tensor.bytes.begin(), tensor.bytes.end()}});
        return {};
    };
    GYM_CHECK(for_each_weight(program, state, naming, keep));
    return weights;
}

Result<std::size_t> write_weights(const std::filesystem::path& path, const Program& program,
                                  const engine::State& state, std::string_view naming,
                                  const std::map<std::string, std::string>& metadata) {
    GYM_TRY(const auto outline, outline_weights(program, naming));
    GYM_CHECK(check_parameters(program, state));
    GYM_TRY(AtomicFile file, AtomicFile::create(path));
    GYM_CHECK(file.write(safetensors_header(outline, metadata)));
    GYM_CHECK(for_each_weight(program, state, naming, [&](const SafetensorsEntry& tensor) {
        return file.write(tensor.bytes);
    }));
    GYM_CHECK(file.commit());
    return outline.size();
}

Result<engine::State> import_weights(const Program& program,
                                     std::span<const SafetensorsEntry> tensors,
                                     std::string_view naming) {
    GYM_TRY(const auto rules, rules_of(program, naming));
    std::set<std::string_view> names;
    for (const SafetensorsEntry& tensor : tensors) {
        if (!names.insert(tensor.name).second)
            return fail(ErrorCode::kMalformed, "two files have a tensor '" + tensor.name + "'");
    }
    const Naming* table = naming_by_name(naming);
    Source source(tensors, table);
    GYM_CHECK(check_tensors(source, table, program, rules));
    engine::State base;
    for (const BoundRule& rule : rules) {
        if (rule.form == Form::kSegments) {  // behind all parameters
            GYM_CHECK(add_segments(source, *table, base));
            continue;
        }
        if (rule.slot == program::kNoSlot) {
            for (const std::string& name : rule.theirs)
                GYM_CHECK(check_zero(source, rule, name));
            continue;
        }
        const Slot& slot = program.slot(rule.slot);
        GYM_TRY(Bytes bytes, read_parameter(source, rule, slot));
        base.tensors.push_back({slot.name, slot.dtype, dims_of(slot), std::move(bytes)});
    }
    GYM_CHECK(check_tied(source, table, program, base));
    return base;
}

}  // namespace gym::interchange
