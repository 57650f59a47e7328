#include "gym/contracts/artifact.hpp"

#include <cstdlib>

#include "gym/common/data_folder.hpp"
#include "json_file.hpp"

namespace gym::contracts {
namespace {

namespace json = boost::json;
constexpr std::uint64_t kArtifactBytesMax = 64 << 20;

Result<const json::array*> array_of(const json::object& object, const char* name) {
    const json::value* value = object.if_contains(name);
    if (value == nullptr || !value->is_array())
        return fail(ErrorCode::kMalformed, std::string("list '") + name + "' is missing");
    return &value->as_array();
}

/// "uint64", or "(address,uint256)[]" for what the JSON calls "tuple[]" with components.
Result<std::string> type_text(const json::value& parameter) {
    if (!parameter.is_object()) return fail(ErrorCode::kMalformed, "a parameter is not an object");
    const json::object& object = parameter.as_object();
    GYM_TRY(const std::string type, text_of(object, "type"));
    if (!type.starts_with("tuple")) return type;
    GYM_TRY(const json::array* components, array_of(object, "components"));
    std::string out = "(";
    for (const json::value& component : *components) {
        GYM_TRY(const std::string inner, type_text(component));
        out += (out.size() > 1 ? "," : "") + inner;
    }
    return out + ")" + type.substr(5);
}

Status add_entry(Artifact& artifact, const json::value& entry) {
    if (!entry.is_object()) return fail(ErrorCode::kMalformed, "an ABI entry is not an object");
    const json::object& object = entry.as_object();
    GYM_TRY(const std::string kind, text_of(object, "type"));
    if (kind == "receive" || kind == "fallback") return {};
    GYM_TRY(const json::array* inputs, array_of(object, "inputs"));
    std::string types;
    for (const json::value& input : *inputs) {
        GYM_TRY(const std::string type, type_text(input));
        types += (types.empty() ? "" : ",") + type;
        if (kind == "constructor") {
            GYM_TRY(chain::AbiType parsed, chain::AbiType::parse(type));
            artifact.constructor.push_back(std::move(parsed));
        }
    }
    if (kind == "constructor") return {};
    GYM_TRY(const std::string name, text_of(object, "name"));
    const std::string signature = name + "(" + types + ")";
    if (kind == "function") artifact.functions.push_back(signature);
    if (kind == "event") artifact.events.push_back(signature);
    if (kind == "error") artifact.errors.push_back(signature);
    return {};
}

Result<Artifact> parse_artifact(const json::object& root, const std::string& name) {
    Artifact out;
    out.name = name;
    GYM_TRY(const json::array* abi, array_of(root, "abi"));
    for (const json::value& entry : *abi)
        GYM_CHECK(add_entry(out, entry));
    const json::value* bytecode = root.if_contains("bytecode");
    if (bytecode == nullptr || !bytecode->is_object())
        return fail(ErrorCode::kMalformed, "object 'bytecode' is missing");
    GYM_TRY(const std::string code, text_of(bytecode->as_object(), "object"));
    auto bytes = from_hex(code);
    if (!bytes.ok() || bytes->empty())
        return fail(ErrorCode::kMalformed, "no complete creation code (unlinked, or abstract?)");
    out.bytecode = std::move(bytes).value();
    return out;
}

std::optional<std::filesystem::path> environment_path(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::filesystem::path(value);
}

}  // namespace

Result<Artifact> load_artifact(const std::filesystem::path& folder, const std::string& name) {
    const std::filesystem::path path = folder / (name + ".sol") / (name + ".json");
    GYM_TRY(const json::object root, read_object(path, kArtifactBytesMax));
    auto artifact = parse_artifact(root, name);
    if (!artifact.ok()) return artifact.error().in(path.string());
    return artifact;
}

Result<std::filesystem::path> find_artifacts() {
    std::filesystem::path folder = data_folder() / "contracts" / "out";
    if (const auto out = environment_path("GYM_CONTRACTS_OUT")) folder = *out;
    std::error_code error;
    if (!std::filesystem::is_directory(folder, error))
        return fail(ErrorCode::kNotFound, "no compiled contracts in " + folder.string() +
                                              " (run forge build, or set GYM_CONTRACTS_OUT)");
    return folder;
}

}  // namespace gym::contracts
