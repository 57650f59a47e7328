#include "gym/crypto/eip712.hpp"

#include <gtest/gtest.h>

#include "ethereum_vectors.hpp"
#include "gym/crypto/key.hpp"

namespace gym::crypto {
namespace {

namespace json = boost::json;

const json::value& vector_named(const char* name) {
    for (const auto& vector : testing::ethereum_vectors().at("typed_data").as_array())
        if (vector.as_object().at("name").as_string() == name) return vector;
    throw std::runtime_error("no such vector");
}

const json::value& message_of(const json::value& vector) {
    return vector.as_object().at("data").as_object().at("message");
}

Amount amount_at(const json::value& object, const char* name) {
    return Amount::parse(testing::text_at(object, name)).value();
}

std::string sign(const json::value& vector, const Eip712Domain& domain, const Digest& struct_hash) {
    const PrivateKey key = PrivateKey::parse(testing::text_at(vector, "key")).value();
    return key.sign_digest(typed_data_digest(domain, struct_hash)).hex();
}

TEST(Eip712, PermitSignatureAgreesWithCast) {
    const json::value& vector = vector_named("permit");
    const json::value& message = message_of(vector);
    const auto spender = testing::fixed_at<Address>(message, "spender");
    const Eip712Domain domain{"Gym", "1", 31337, spender};
    const Digest hash =
        StructHasher(
            "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)")
            .address(testing::fixed_at<Address>(message, "owner"))
            .address(spender)
            .uint256(amount_at(message, "value"))
            .uint256(amount_at(message, "nonce"))
            .uint256(amount_at(message, "deadline"))
            .finish();
    EXPECT_EQ(sign(vector, domain, hash), testing::text_at(vector, "signature"));

    const Eip712Domain other_chain{"Gym", "1", 31338, spender};
    EXPECT_NE(domain_separator(domain), domain_separator(other_chain));
}

TEST(Eip712, EveryMemberKindAgreesWithCastWithoutChainAndContract) {
    const json::value& vector = vector_named("call");
    const json::value& message = message_of(vector);
    Bytes roots;
    for (const json::value& text : message.as_object().at("roots").as_array()) {
        const Digest root = Digest::parse(std::string_view(text.as_string())).value();
        roots.insert(roots.end(), root.data.begin(), root.data.end());
    }
    const Digest hash =
        StructHasher(
            "Call(string method,uint64 atMs,bytes32 nonce,bytes payload,bool last,bytes32[] roots)")
            .text(testing::text_at(message, "method"))
            .uint(amount_at(message, "atMs").to_u64().value())
            .bytes32(testing::fixed_at<Digest>(message, "nonce"))
            .bytes(testing::bytes_at(message, "payload"))
            .boolean(message.as_object().at("last").as_bool())
            .bytes(roots)
            .finish();
    EXPECT_EQ(sign(vector, {"Gym", "2", std::nullopt, std::nullopt}, hash),
              testing::text_at(vector, "signature"));
}

TEST(Eip712, NestedStructAgreesWithCast) {
    const json::value& vector = vector_named("nested");
    const json::value& message = message_of(vector);
    const json::value& inner = message.as_object().at("inner");
    const Digest inner_hash = StructHasher("Inner(address who,string empty)")
                                  .address(testing::fixed_at<Address>(inner, "who"))
                                  .text("")
                                  .finish();
    const Digest hash = StructHasher("Outer(uint64 id,Inner inner)Inner(address who,string empty)")
                            .uint(UINT64_MAX)
                            .bytes32(inner_hash)
                            .finish();
    EXPECT_EQ(sign(vector, {"Gym", "1", 1, std::nullopt}, hash),
              testing::text_at(vector, "signature"));
}

TEST(Eip712DeathTest, AMissingOrSurplusMemberIsABrokenInvariant) {
    EXPECT_DEATH((void)StructHasher("Pair(uint64 a,uint64 b)").uint(1).finish(),
                 "differ in number");
    EXPECT_DEATH((void)StructHasher("One(uint64 a)").uint(1).uint(2).finish(), "differ in number");
}

}  // namespace
}  // namespace gym::crypto
