#include <boost/json.hpp>
#include <cstdlib>

#include "gym/chain/deploy.hpp"
#include "gym/common/data_folder.hpp"
#include "gym/common/file.hpp"

namespace gym::chain {
namespace {

namespace json = boost::json;
constexpr std::uint64_t kArtifactBytesMax = 64 << 20;
constexpr std::uint64_t kDeploymentBytesMax = 64 << 10;

Result<json::object> read_object(const std::filesystem::path& path, std::uint64_t size_max) {
    GYM_TRY(const Bytes content, read_file(path, size_max));
    boost::system::error_code error;
    json::value value =
        json::parse({reinterpret_cast<const char*>(content.data()), content.size()}, error);
    if (error || !value.is_object())
        return fail(ErrorCode::kMalformed, path.string() + " is no JSON object");
    return std::move(value.as_object());
}

Result<std::string> text_of(const json::object& object, const char* name) {
    const json::value* value = object.if_contains(name);
    if (value == nullptr || !value->is_string())
        return fail(ErrorCode::kMalformed, std::string("text '") + name + "' is missing");
    return std::string(value->as_string());
}

Result<const json::array*> array_of(const json::object& object, const char* name) {
    const json::value* value = object.if_contains(name);
    if (value == nullptr || !value->is_array())
        return fail(ErrorCode::kMalformed, std::string("list '") + name + "' is missing");
    return &value->as_array();
}

/// "uint64", or "(address,uint256)[]" for what the JSON calls "tuple[]" with components.
Result<std::string> type_text(const json::value& parameter) {
    if (!parameter.is_object()) return fail(ErrorCode::kMalformed, "a parameter is no object");
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
    if (!entry.is_object()) return fail(ErrorCode::kMalformed, "an ABI entry is no object");
    const json::object& object = entry.as_object();
    GYM_TRY(const std::string kind, text_of(object, "type"));
    if (kind == "receive" || kind == "fallback") return {};
    GYM_TRY(const json::array* inputs, array_of(object, "inputs"));
    std::string types;
    for (const json::value& input : *inputs) {
        GYM_TRY(const std::string type, type_text(input));
        types += (types.empty() ? "" : ",") + type;
        if (kind == "constructor") {
            GYM_TRY(AbiType parsed, AbiType::parse(type));
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

struct AddressField {
    const char* name;
    Address Deployment::*member;
};
constexpr AddressField kAddressFields[] = {
    {"token", &Deployment::token},   {"distributor", &Deployment::distributor},
    {"escrow", &Deployment::escrow}, {"commitment_log", &Deployment::commitment_log},
    {"stake", &Deployment::stake},   {"dispute_game", &Deployment::dispute_game}};

Result<std::uint64_t> number_of(const json::object& object, const char* name) {
    const json::value* value = object.if_contains(name);
    if (value == nullptr || !value->is_int64() || value->as_int64() < 0)
        return fail(ErrorCode::kMalformed, std::string("number '") + name + "' is missing");
    return static_cast<std::uint64_t>(value->as_int64());
}

Result<Deployment> parse_deployment(const json::object& root) {
    Deployment out;
    GYM_TRY(out.chain_id, number_of(root, "chain_id"));
    GYM_TRY(out.start_block, number_of(root, "start_block"));
    for (const AddressField& field : kAddressFields) {
        if (!root.contains(field.name))
            return fail(ErrorCode::kMalformed,
                        std::string("address '") + field.name +
                            "' is missing: an older gym wrote it, deploy its network anew");
        GYM_TRY(const std::string text, text_of(root, field.name));
        GYM_TRY(out.*field.member, crypto::parse_address(text));
    }
    return out;
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

Status save_deployment(const std::filesystem::path& path, const Deployment& deployment) {
    json::object root{{"chain_id", deployment.chain_id}, {"start_block", deployment.start_block}};
    for (const AddressField& field : kAddressFields)
        root[field.name] = crypto::to_checksum(deployment.*field.member);
    return write_file_atomic(path, as_bytes(json::serialize(root) + "\n"));
}

Result<Deployment> load_deployment(const std::filesystem::path& path) {
    GYM_TRY(const json::object root, read_object(path, kDeploymentBytesMax));
    auto deployment = parse_deployment(root);
    if (!deployment.ok()) return deployment.error().in(path.string());
    return deployment;
}

}  // namespace gym::chain
