#include "gym/interchange/weights_file.hpp"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <system_error>

#include "gym/common/file.hpp"
#include "gym/common/memory.hpp"
#include "gym/engine/saved_run.hpp"
#include "gym/engine/state_index.hpp"
#include "gym/engine/state_layout.hpp"
#include "gym/interchange/hf_config.hpp"
#include "gym/interchange/weights.hpp"
#include "gym/program/cost.hpp"
#include "gym/program/recognise.hpp"

namespace gym::interchange {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* kConfig = "config.json";
constexpr const char* kWhole = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr std::size_t kJsonDepthMax = 32;

Result<json::object> read_json(const fs::path& path, std::uint64_t size_bytes_max) {
    GYM_TRY(const Bytes bytes, read_file(path, size_bytes_max));
    json::parse_options options;
    options.max_depth = kJsonDepthMax;
    boost::system::error_code error;
    json::value value = json::parse(std::string(bytes.begin(), bytes.end()), error, {}, options);
    if (error) return fail(ErrorCode::kMalformed, path.string() + ": " + error.message());
    if (!value.is_object())
        return fail(ErrorCode::kMalformed, path.string() + " is not a JSON object");
    return std::move(value.as_object());
}

std::optional<std::int64_t> number_in(const json::object& config,
                                      std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
        const json::value* value = config.if_contains(key);
        if (value != nullptr && value->is_int64()) return value->as_int64();
    }
    return std::nullopt;
}

std::optional<std::int64_t> attention_heads(const program::Program& program) {
    const program::Op* attention = program::first_attention(program);
    if (attention == nullptr) return std::nullopt;
    return static_cast<std::int64_t>(attention->attributes[1]);
}

/// What of a model the shapes of its weights do not say: a wrong one trains, and badly.
Status check_config(const fs::path& path, const program::Program& program) {
    GYM_TRY(const json::object config, read_json(path, kConfigBytesMax));
    const auto differs = [&](const std::string& key, const std::string& theirs,
                             const std::string& ours) {
        return fail(ErrorCode::kInvalidArgument,
                    path.string() + ": '" + key + "' is " + theirs + ", the program's is " + ours);
    };
    const std::string naming = naming_of(program);
    const json::value* type = config.if_contains("model_type");
    if (type != nullptr && type->is_string()) {
        const std::string name(type->as_string());
        const auto known = naming_names();
        const std::string ours = naming.substr(0, naming.find('-'));  // "bert-classifier"
        if (name != ours && std::ranges::find(known, name) != known.end())
            return differs("model_type", name, ours);
        // Shapes do not say that it computes what a program does.
        if (name == "bert")
            if (const auto model = model_config_of(config); !model.ok())
                return model.error().in(path.string());
    }
    const auto theirs = number_in(config, {"n_head", "num_attention_heads"});
    const auto ours = attention_heads(program);
    if (theirs && ours && *theirs != *ours)
        return differs("num_attention_heads", std::to_string(*theirs), std::to_string(*ours));
    return {};
}

/// A file's tensors and the bytes that they borrow from.
struct Shard {
    fs::path path;
    Bytes bytes;
    std::vector<SafetensorsEntry> tensors;
};

/// Bits of an element that are all set in NaN and infinity; 0 for dtypes that are no weights.
std::uint32_t exponent_mask(std::string_view dtype) {
    if (dtype == "F32") return 0x7F800000U;
    if (dtype == "BF16") return 0x7F80U;
    return dtype == "F16" ? 0x7C00U : 0;
}

Status check_finite(const Shard& shard, const SafetensorsEntry& tensor) {
    const std::uint32_t mask = exponent_mask(tensor.dtype);
    if (mask == 0) return {};
    const std::uint64_t element_bytes = safetensors_element_bytes(tensor.dtype);
    std::uint64_t count = 0, first = 0;
    for (std::uint64_t at = 0; at < tensor.bytes.size(); at += element_bytes) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, tensor.bytes.data() + at, element_bytes);
        if ((bits & mask) == mask && count++ == 0) first = at;
    }
    if (count == 0) return {};
    const auto offset = static_cast<std::uint64_t>(tensor.bytes.data() - shard.bytes.data());
    return fail(ErrorCode::kInvalidArgument,
                shard.path.string() + ": tensor '" + tensor.name + "' has " +
                    std::to_string(count) + (count == 1 ? " value that is" : " values that are") +
                    " NaN or infinite, the first at byte " + std::to_string(offset + first));
}

/// What a single file may have: every weight in F64 at most, and room for what else the files of
/// others hold (masks, a second copy of tied embeddings).
std::uint64_t file_bytes_max(const program::Program& program) {
    constexpr std::uint64_t kOtherBytesMax = std::uint64_t{1} << 32;
    return program::parameter_count(program) * sizeof(double) + kOtherBytesMax;
}

Result<Shard> read_shard(const fs::path& path, std::uint64_t size_bytes_max) {
    Shard shard{path, {}, {}};
    GYM_TRY(shard.bytes, read_file(path, size_bytes_max));
    auto file = parse_safetensors(shard.bytes);
    if (!file.ok()) return file.error().in(path.string());
    shard.tensors = std::move(file->tensors);
    for (const SafetensorsEntry& tensor : shard.tensors)
        GYM_CHECK(check_finite(shard, tensor));
    return shard;
}

/// Whether this machine can hold the files and the state made of them.
Status check_memory(const program::Program& program, const std::vector<fs::path>& files) {
    std::uint64_t bytes = program::parameter_count(program) * sizeof(float);
    for (const fs::path& path : files) {
        std::error_code unknown;  // then read_file says what is wrong
        const std::uint64_t size = fs::file_size(path, unknown);
        if (!unknown) bytes += size;
    }
    GYM_TRY(const std::uint64_t available, available_memory_bytes());
    if (bytes <= available) return {};
    return fail(ErrorCode::kOutOfRange, "reading these weights takes " + memory_text(bytes) +
                                            " of memory, and " + memory_text(available) +
                                            " is available on this machine");
}

using PlaceOfTensor = std::map<std::string, std::string>;  // tensor -> file name

/// The `weight_map` of an index. Its files lie beside it.
Result<PlaceOfTensor> read_index(const fs::path& path) {
    GYM_TRY(const json::object index, read_json(path, kIndexBytesMax));
    const json::value* map = index.if_contains("weight_map");
    if (map == nullptr || !map->is_object())
        return fail(ErrorCode::kMalformed, path.string() + " has no object 'weight_map'");
    PlaceOfTensor places;
    for (const auto& entry : map->as_object()) {
        const std::string tensor(entry.key());
        const std::string file(entry.value().is_string() ? entry.value().as_string() : "");
        if (file.empty() || file.find('/') != std::string::npos || file.starts_with('.'))
            return fail(ErrorCode::kMalformed,
                        path.string() + ": '" + tensor + "' must name a file of the same folder");
        places.emplace(tensor, file);
    }
    if (!places.empty()) return places;
    return fail(ErrorCode::kMalformed, path.string() + " names no tensor");
}

/// The parts of a model hold the tensors that its index says.
Status check_index(const fs::path& index, const PlaceOfTensor& places,
                   const std::vector<Shard>& shards) {
    std::set<std::pair<std::string, std::string>> there;
    for (const Shard& shard : shards) {
        for (const SafetensorsEntry& tensor : shard.tensors)
            there.emplace(tensor.name, shard.path.filename().string());
    }
    for (const auto& place : places) {
        if (!there.contains(place))
            return fail(ErrorCode::kMalformed, index.string() + ": tensor '" + place.first +
                                                   "' is not in " + place.second);
    }
    return {};
}

Result<std::vector<Shard>> read_shards(const program::Program& program,
                                       const std::vector<fs::path>& files) {
    if (files.size() > kShardsMax)
        return fail(ErrorCode::kOutOfRange, "a model of more than 4096 files");
    GYM_CHECK(check_memory(program, files));
    std::vector<Shard> shards;
    shards.reserve(files.size());  // tensors borrow from their shard's bytes
    for (const fs::path& path : files) {
        GYM_TRY(Shard shard, read_shard(path, file_bytes_max(program)));
        shards.push_back(std::move(shard));
    }
    return shards;
}

/// @param names empty: those that the tensors have.
Result<LoadedWeights> convert(const program::Program& program, const std::vector<Shard>& shards,
                              const std::string& origin, const std::string& names = "") {
    std::vector<SafetensorsEntry> tensors;
    LoadedWeights out;
    for (const Shard& shard : shards) {
        tensors.insert(tensors.end(), shard.tensors.begin(), shard.tensors.end());
        out.files.push_back(shard.path);
    }
    out.names = names.empty() ? naming_in(program, tensors) : names;
    out.tensors = tensors.size();
    auto base = import_weights(program, tensors, out.names);
    if (!base.ok()) return base.error().in(origin);
    out.base = std::move(base).value();
    return out;
}

Result<LoadedWeights> load_folder(const fs::path& folder, const program::Program& program) {
    std::error_code ignored;
    if (!fs::exists(folder / kConfig, ignored))
        return fail(ErrorCode::kNotFound,
                    folder.string() +
                        " has no config.json: a folder of weights has it beside "
                        "model.safetensors; name the safetensors file itself if "
                        "there is none");
    GYM_CHECK(check_config(folder / kConfig, program));
    if (!fs::exists(folder / kIndex, ignored)) {
        if (!fs::exists(folder / kWhole, ignored))
            return fail(ErrorCode::kNotFound, folder.string() +
                                                  " has neither model.safetensors nor "
                                                  "model.safetensors.index.json");
        GYM_TRY(const auto shards, read_shards(program, {folder / kWhole}));
        return convert(program, shards, folder.string());
    }
    GYM_TRY(const PlaceOfTensor places, read_index(folder / kIndex));
    std::set<std::string> names;
    for (const auto& [tensor, file] : places)
        names.insert(file);
    std::vector<fs::path> files;
    files.reserve(names.size());
    for (const std::string& name : names)
        files.push_back(folder / name);
    GYM_TRY(const auto shards, read_shards(program, files));
    GYM_CHECK(check_index(folder / kIndex, places, shards));
    return convert(program, shards, folder.string());
}

/// The state in a file that `gym program run` or an import wrote.
Result<engine::State> state_in(ByteView content) {
    if (!engine::is_saved_run(content)) return engine::decode_state(content);
    GYM_TRY(engine::SavedRun run, engine::decode_saved_run(content));
    return std::move(run.state);
}

/// Without the optimizer's moments (docs/PROGRAMS.md), "m." and "v." before a parameter's name, and
/// without what else a training state of the program has.
engine::StateLayout parameters_of(const engine::State& state, const program::Program& program) {
    engine::StateLayout out = engine::layout_of(state);
    std::erase_if(out, [&](const engine::TensorLayout& tensor) {
        const std::string_view name = tensor.name;
        const program::SlotId slot = program.find_slot(tensor.name);
        if (slot != program::kNoSlot && program.slot(slot).kind != program::SlotKind::kParam)
            return true;
        return (name.starts_with("m.") || name.starts_with("v.")) &&
               state.find(name.substr(2)) != nullptr;
    });
    return out;
}

/// Of a run, a training state or a base state.
Result<LoadedWeights> load_state(const fs::path& path, const program::Program& program) {
    GYM_CHECK(check_memory(program, {path, path}));  // as a file and as tensors
    GYM_TRY(const Bytes content, read_file(path, engine::kStateBytesMax));
    auto state = state_in(content);
    if (!state.ok()) return state.error().in(path.string());
    auto base = engine::base_of(program, *state);
    if (!base.ok()) {
        const Status all =
            engine::check_layout(engine::parameter_layout(program), parameters_of(*state, program));
        return (all.ok() ? base.error() : all.error()).in(path.string());
    }
    const Status finite = engine::check_finite(*base);
    if (!finite.ok()) return finite.error().in(path.string());
    const std::size_t tensors = base->tensors.size();
    return LoadedWeights{std::move(base).value(), "state", {path}, tensors};
}

/// Whether a file begins as a state, alone or of a run. @errors kNotFound, kIo.
Result<bool> is_state(const fs::path& path) {
    GYM_TRY(const Bytes begin, read_range(path, 0, engine::StateIndex::kBeginBytes));
    return engine::is_saved_run(begin) || engine::begins_as_state(begin);
}

}  // namespace

std::string naming_in(const program::Program& program,
                      const std::vector<SafetensorsEntry>& tensors) {
    for (const SafetensorsEntry& tensor : tensors) {
        const program::SlotId slot = program.find_slot(tensor.name);
        if (slot != program::kNoSlot && program.slot(slot).kind == program::SlotKind::kParam)
            return "gym";
    }
    return naming_of(program);
}

Result<LoadedWeights> load_weights(const fs::path& path, const program::Program& program) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) return load_folder(path, program);
    if (!fs::exists(path, ignored))
        return fail(ErrorCode::kNotFound, path.string() + ": no such file or folder of weights");
    GYM_TRY(const bool state, is_state(path));
    if (state) return load_state(path, program);
    return load_weight_files({path}, program);
}

Result<LoadedWeights> load_weight_files(const std::vector<fs::path>& files,
                                        const program::Program& program, const std::string& names) {
    GYM_TRY(const auto shards, read_shards(program, files));
    std::string origin;
    for (const fs::path& file : files)
        origin += (origin.empty() ? "" : ", ") + file.string();
    return convert(program, shards, origin, names);
}

}  // namespace gym::interchange
