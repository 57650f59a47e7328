#include "gym/crypto/key.hpp"

#include <gtest/gtest.h>

#include <type_traits>

#include "ethereum_vectors.hpp"
#include "gym/common/amount.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::crypto {
namespace {

constexpr const char* kGroupOrder =
    "fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141";

static_assert(!std::is_copy_constructible_v<PrivateKey> && !std::is_copy_assignable_v<PrivateKey>);

PrivateKey key_at(const boost::json::value& vector) {
    return PrivateKey::parse(testing::text_at(vector, "key")).value();
}

/// The other signature of the same content, with s' = order - s and the other v.
Signature high_s_twin(const Signature& signature) {
    std::array<std::uint8_t, 32> s{};
    std::copy_n(signature.data.begin() + 32, 32, s.begin());
    const Digest order = Digest::parse(kGroupOrder).value();
    const auto high = Amount::from_be32(order.data).minus(Amount::from_be32(s)).value().to_be32();
    Signature out = signature;
    std::copy(high.begin(), high.end(), out.data.begin() + 32);
    out.data[64] = static_cast<std::uint8_t>(55 - signature.data[64]);
    return out;
}

TEST(PrivateKey, AddressPublicKeyAndSignatureAgreeWithCast) {
    for (const auto& vector : testing::ethereum_vectors().at("keys").as_array()) {
        const PrivateKey key = key_at(vector);
        EXPECT_EQ(to_checksum(key.address()), testing::text_at(vector, "address"));
        EXPECT_EQ(to_hex0x(key.public_key()), testing::text_at(vector, "public_key"));
        const Digest digest = testing::fixed_at<Digest>(vector, "digest");
        EXPECT_EQ(key.sign_digest(digest).hex(), testing::text_at(vector, "signature"));
        EXPECT_EQ(key.sign_digest(digest), key.sign_digest(digest));
    }
}

TEST(PrivateKey, RefusesWhatIsNoKey) {
    const Bytes zero(32, 0);
    EXPECT_EQ(PrivateKey::from_bytes(zero).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(PrivateKey::parse(kGroupOrder).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(PrivateKey::from_bytes(Bytes(31, 1)).error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(PrivateKey::from_bytes(Bytes(33, 1)).error().code, ErrorCode::kInvalidArgument);
}

TEST(PrivateKey, ErrorsNeverRepeatTheSecret) {
    const std::string secret = "0123456789abcdeg";
    const Error error = PrivateKey::parse(secret).error();
    EXPECT_EQ(error.code, ErrorCode::kMalformed);
    EXPECT_EQ(error.message.find("0123"), std::string::npos);
}

TEST(PrivateKey, GeneratedKeysDiffer) {
    EXPECT_NE(PrivateKey::generate().address(), PrivateKey::generate().address());
}

TEST(PrivateKey, CloneAndMoveKeepTheKey) {
    PrivateKey key = PrivateKey::generate();
    const Address address = key.address();
    const PrivateKey copy = key.clone();
    PrivateKey moved = std::move(key);
    const Digest digest = keccak256_text("content");
    EXPECT_EQ(copy.sign_digest(digest), moved.sign_digest(digest));
    PrivateKey target = PrivateKey::generate();
    target = std::move(moved);
    EXPECT_EQ(recover_address(digest, target.sign_digest(digest)).value(), address);
}

TEST(PrivateKeyDeathTest, AMovedFromKeySignsNothing) {
    PrivateKey key = PrivateKey::generate();
    const PrivateKey moved = std::move(key);
    EXPECT_DEATH((void)key.sign_digest(keccak256_text("x")), "moved-from");  // NOLINT: on purpose
}

TEST(Recover, FindsTheSignerOfEveryVector) {
    for (const auto& vector : testing::ethereum_vectors().at("keys").as_array()) {
        const auto signature = testing::fixed_at<Signature>(vector, "signature");
        const auto digest = testing::fixed_at<Digest>(vector, "digest");
        EXPECT_EQ(recover_address(digest, signature).value(), key_at(vector).address());
        EXPECT_TRUE(verify_signature(digest, signature, key_at(vector).address()).ok());
    }
}

TEST(Recover, OneFlippedBitNeverVerifies) {
    const PrivateKey key = PrivateKey::generate();
    const Digest digest = keccak256_text("content");
    const Signature signature = key.sign_digest(digest);
    for (std::size_t bit = 0; bit < 65 * 8; ++bit) {
        Signature altered = signature;
        altered.data[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
        EXPECT_EQ(verify_signature(digest, altered, key.address()).error().code,
                  ErrorCode::kUnauthenticated)
            << "bit " << bit;
    }
    for (std::size_t bit = 0; bit < 256; ++bit) {
        Digest altered = digest;
        altered.data[bit / 8] ^= static_cast<std::uint8_t>(1U << (bit % 8));
        EXPECT_FALSE(verify_signature(altered, signature, key.address()).ok()) << "bit " << bit;
    }
}

TEST(Recover, RefusesTheHighSTwin) {
    const PrivateKey key = PrivateKey::generate();
    const Digest digest = keccak256_text("content");
    const Signature twin = high_s_twin(key.sign_digest(digest));
    const auto recovered = recover_address(digest, twin);
    ASSERT_FALSE(recovered.ok());
    EXPECT_NE(recovered.error().message.find("upper half"), std::string::npos);
}

TEST(Recover, RefusesZerosAndOtherV) {
    const PrivateKey key = PrivateKey::generate();
    const Digest digest = keccak256_text("content");
    const Signature good = key.sign_digest(digest);
    for (const int v : {0, 1, 26, 29, 255}) {
        Signature bad = good;
        bad.data[64] = static_cast<std::uint8_t>(v);
        EXPECT_FALSE(recover_address(digest, bad).ok()) << v;
    }
    Signature no_r = good;
    std::fill_n(no_r.data.begin(), 32, 0);
    EXPECT_FALSE(recover_address(digest, no_r).ok());
    Signature no_s = good;
    std::fill_n(no_s.data.begin() + 32, 32, 0);
    EXPECT_FALSE(recover_address(digest, no_s).ok());
}

TEST(Address, ChecksumCatchesAMistypedDigit) {
    const std::string text = "0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf";  // of private key 1
    const Address address = parse_address(text).value();
    EXPECT_EQ(to_checksum(address), text);
    EXPECT_EQ(parse_address("7e5f4552091a69125d5dfcb7b8c2659029395bdf").value(), address);
    EXPECT_EQ(parse_address("0x7E5F4552091A69125D5DFCB7B8C2659029395BDF").value(), address);
    EXPECT_EQ(parse_address("0x7E5F4552091A69125d5DfCb7b8C2659029395Bde").error().code,
              ErrorCode::kMalformed);
    EXPECT_FALSE(parse_address("0x7E5F4552091A69125d5DfCb7b8C2659029395B").ok());
}

}  // namespace
}  // namespace gym::crypto
