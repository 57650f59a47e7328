#include "gym/contracts/deployment.hpp"

#include "gym/crypto/key.hpp"
#include "json_file.hpp"

namespace gym::contracts {
namespace {

namespace json = boost::json;
constexpr std::uint64_t kDeploymentBytesMax = 64 << 10;

struct AddressField {
    const char* name;
    Address Deployment::*member;
};
constexpr AddressField kAddressFields[] = {
    {"token", &Deployment::token},   {"distributor", &Deployment::distributor},
    {"escrow", &Deployment::escrow}, {"commitment_log", &Deployment::commitment_log},
    {"stake", &Deployment::stake},   {"dispute_game", &Deployment::dispute_game}};
constexpr AddressField kOptionalFields[] = {{"verifier_stake", &Deployment::verifier_stake},
                                            {"report_game", &Deployment::report_game}};

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
    for (const AddressField& field : kOptionalFields) {
        if (!root.contains(field.name)) continue;
        GYM_TRY(const std::string text, text_of(root, field.name));
        GYM_TRY(out.*field.member, crypto::parse_address(text));
    }
    if (out.verifier_stake.is_zero() != out.report_game.is_zero())
        return fail(ErrorCode::kMalformed,
                    "'verifier_stake' and 'report_game' belong together: name both or none");
    return out;
}

}  // namespace

Status save_deployment(const std::filesystem::path& path, const Deployment& deployment) {
    json::object root{{"chain_id", deployment.chain_id}, {"start_block", deployment.start_block}};
    for (const AddressField& field : kAddressFields)
        root[field.name] = crypto::to_checksum(deployment.*field.member);
    for (const AddressField& field : kOptionalFields)
        if (!(deployment.*field.member).is_zero())
            root[field.name] = crypto::to_checksum(deployment.*field.member);
    return write_file_atomic(path, as_bytes(json::serialize(root) + "\n"));
}

Result<Deployment> load_deployment(const std::filesystem::path& path) {
    GYM_TRY(const json::object root, read_object(path, kDeploymentBytesMax));
    auto deployment = parse_deployment(root);
    if (!deployment.ok()) return deployment.error().in(path.string());
    return deployment;
}

}  // namespace gym::contracts
