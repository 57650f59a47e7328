#include "gym/crypto/key.hpp"

#include <secp256k1.h>
#include <secp256k1_recovery.h>

#include <algorithm>
#include <cctype>

#include "gym/crypto/keccak.hpp"

namespace gym::crypto {
namespace {

constexpr std::uint8_t kRecoveryBase = 27;

/// One context for the process, blinded against side channels. Const use is thread-safe.
const secp256k1_context* context() {
    static const secp256k1_context* const shared = [] {
        secp256k1_context* made = secp256k1_context_create(SECP256K1_CONTEXT_NONE);
        std::array<std::uint8_t, 32> seed{};
        secure_random(seed);
        const int ok = secp256k1_context_randomize(made, seed.data());
        GYM_ASSERT(ok == 1, "libsecp256k1 refused its blinding seed");
        secure_clear(seed);
        return made;
    }();
    return shared;
}

std::array<std::uint8_t, 64> serialize(const secp256k1_pubkey& key) {
    std::array<std::uint8_t, 65> out{};
    std::size_t size = out.size();
    secp256k1_ec_pubkey_serialize(context(), out.data(), &size, &key, SECP256K1_EC_UNCOMPRESSED);
    GYM_ASSERT(size == out.size() && out[0] == 4, "an uncompressed point has 65 bytes");
    std::array<std::uint8_t, 64> xy{};
    std::copy(out.begin() + 1, out.end(), xy.begin());
    return xy;
}

std::array<std::uint8_t, 64> derive_public_key(const std::array<std::uint8_t, 32>& secret) {
    secp256k1_pubkey key;
    const int ok = secp256k1_ec_pubkey_create(context(), &key, secret.data());
    GYM_ASSERT(ok == 1, "a moved-from private key was used");
    return serialize(key);
}

Error bad_signature(std::string_view why) {
    return fail(ErrorCode::kUnauthenticated, "invalid signature: " + std::string(why));
}

}  // namespace

Result<PrivateKey> PrivateKey::from_bytes(ByteView bytes) {
    PrivateKey key;
    if (bytes.size() != key.secret_.size())
        return fail(ErrorCode::kInvalidArgument, "a private key has 32 bytes");
    if (secp256k1_ec_seckey_verify(context(), bytes.data()) != 1)
        return fail(ErrorCode::kInvalidArgument, "a private key is in [1, group order)");
    std::copy(bytes.begin(), bytes.end(), key.secret_.begin());
    key.address_ = address_of_public_key(derive_public_key(key.secret_));
    return key;
}

Result<PrivateKey> PrivateKey::parse(std::string_view text) {
    auto decoded = from_hex(text);
    if (!decoded.ok()) return fail(ErrorCode::kMalformed, "a private key is 64 hexadecimal digits");
    const SecretBytes bytes(std::move(decoded).value());
    return from_bytes(bytes.view());
}

PrivateKey PrivateKey::generate() {
    SecretBytes bytes(std::size_t{32});
    for (;;) {  // ends: all but 2^-127 of the draws are keys
        secure_random(bytes.writable());
        auto key = from_bytes(bytes.view());
        if (key.ok()) return std::move(key).value();
    }
}

PrivateKey::PrivateKey(PrivateKey&& other) noexcept
    : secret_(other.secret_), address_(other.address_) {
    secure_clear(other.secret_);
}

PrivateKey& PrivateKey::operator=(PrivateKey&& other) noexcept {
    if (this != &other) {
        secret_ = other.secret_;
        address_ = other.address_;
        secure_clear(other.secret_);
    }
    return *this;
}

PrivateKey::~PrivateKey() {
    secure_clear(secret_);
}

PrivateKey PrivateKey::clone() const {
    PrivateKey copy;
    copy.secret_ = secret_;
    copy.address_ = address_;
    return copy;
}

std::array<std::uint8_t, 64> PrivateKey::public_key() const {
    return derive_public_key(secret_);
}

Signature PrivateKey::sign_digest(const Digest& digest) const {
    secp256k1_ecdsa_recoverable_signature raw;
    const int ok = secp256k1_ecdsa_sign_recoverable(context(), &raw, digest.data.data(),
                                                    secret_.data(), nullptr, nullptr);
    GYM_ASSERT(ok == 1, "a moved-from private key was used");
    Signature out;
    int recovery_id = 0;
    secp256k1_ecdsa_recoverable_signature_serialize_compact(context(), out.data.data(),
                                                            &recovery_id, &raw);
    // Ids 2 and 3 (r beyond the group order) need a 2^-127 accident; Ethereum has no v for them.
    GYM_ASSERT(recovery_id == 0 || recovery_id == 1, "r exceeds the group order");
    out.data[64] = static_cast<std::uint8_t>(kRecoveryBase + recovery_id);
    return out;
}

SecretBytes PrivateKey::reveal() const {
    return SecretBytes(Bytes(secret_.begin(), secret_.end()));
}

Result<Address> recover_address(const Digest& digest, const Signature& signature) {
    const std::uint8_t v = signature.data[64];
    if (v != kRecoveryBase && v != kRecoveryBase + 1) return bad_signature("v is not 27 or 28");
    secp256k1_ecdsa_recoverable_signature raw;
    if (secp256k1_ecdsa_recoverable_signature_parse_compact(context(), &raw, signature.data.data(),
                                                            v - kRecoveryBase) != 1)
        return bad_signature("r or s is not below the group order");
    secp256k1_ecdsa_signature plain;
    secp256k1_ecdsa_recoverable_signature_convert(context(), &plain, &raw);
    if (secp256k1_ecdsa_signature_normalize(context(), nullptr, &plain) == 1)
        return bad_signature("s is in the upper half (a second encoding of another signature)");
    secp256k1_pubkey key;
    if (secp256k1_ecdsa_recover(context(), &key, &raw, digest.data.data()) != 1)
        return bad_signature("no public key fits");
    return address_of_public_key(serialize(key));
}

Status verify_signature(const Digest& digest, const Signature& signature, const Address& signer) {
    GYM_TRY(const Address recovered, recover_address(digest, signature));
    if (recovered != signer)
        return fail(ErrorCode::kUnauthenticated, "signed by " + to_checksum(recovered) +
                                                     " (or over other content), expected " +
                                                     to_checksum(signer));
    return {};
}

Address address_of_public_key(const std::array<std::uint8_t, 64>& public_key) {
    const Digest hash = keccak256(public_key);
    Address out;
    std::copy(hash.data.begin() + 12, hash.data.end(), out.data.begin());
    return out;
}

std::string to_checksum(const Address& address) {
    std::string text = to_hex(address.view());
    const Digest hash = keccak256_text(text);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const int nibble = i % 2 == 0 ? hash.data[i / 2] >> 4 : hash.data[i / 2] & 15;
        if (nibble >= 8 && text[i] >= 'a') text[i] = static_cast<char>(text[i] - 'a' + 'A');
    }
    return "0x" + text;
}

Result<Address> parse_address(std::string_view text) {
    const auto parsed = Address::parse(text);
    if (!parsed.ok())
        return fail(ErrorCode::kMalformed,
                    "'" + std::string(text) +
                        "' is not an address: 0x and 40 hexadecimal digits are expected");
    const Address address = *parsed;
    const std::string_view digits = text.substr(text.size() - 2 * Address::kSize);
    const bool upper =
        std::any_of(digits.begin(), digits.end(), [](char c) { return c >= 'A' && c <= 'F'; });
    const bool lower =
        std::any_of(digits.begin(), digits.end(), [](char c) { return c >= 'a' && c <= 'f'; });
    if (upper && lower && to_checksum(address).substr(2) != digits)
        return fail(
            ErrorCode::kMalformed,
            "address " + std::string(text) + " has a wrong checksum (EIP-55): a digit is mistyped");
    return address;
}

}  // namespace gym::crypto
