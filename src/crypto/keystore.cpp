#include "gym/crypto/keystore.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <bit>
#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <memory>

#include "gym/common/file.hpp"
#include "gym/crypto/keccak.hpp"

namespace gym::crypto {
namespace {

namespace json = boost::json;

constexpr std::size_t kDerivedBytes = 32;
constexpr std::size_t kIvBytes = 16;
constexpr std::size_t kSaltBytesMax = 64;

/// The "crypto" object of a keystore, with checked fields.
struct Sealed {
    ScryptCost cost;
    Bytes salt;
    Bytes iv;
    Bytes ciphertext;
    Bytes mac;
};

Status check_cost(const ScryptCost& cost) {
    const std::uint64_t n = cost.n;
    if (n < 2 || !std::has_single_bit(n) || cost.r == 0 || cost.p == 0)
        return fail(ErrorCode::kOutOfRange,
                    "scrypt needs n a power of two above 1, r and p above 0");
    // Each factor is bounded first, so that the products cannot wrap.
    constexpr std::uint64_t factor_max = kScryptWorkMax;
    if (n > factor_max || cost.r > factor_max || cost.p > factor_max ||
        n * cost.r > kScryptMemoryBytesMax / 128 || n * cost.r > kScryptWorkMax / cost.p)
        return fail(ErrorCode::kOutOfRange,
                    "scrypt cost n=" + std::to_string(cost.n) + " r=" + std::to_string(cost.r) +
                        " p=" + std::to_string(cost.p) + " exceeds this program's limit");
    return {};
}

Result<SecretBytes> derive(const SecretBytes& passphrase, const ScryptCost& cost, ByteView salt) {
    GYM_CHECK(check_cost(cost));
    SecretBytes out(kDerivedBytes);
    const auto* text = reinterpret_cast<const char*>(passphrase.view().data());
    // OpenSSL counts its own tables too: twice the bound leaves room and still is a bound.
    if (EVP_PBE_scrypt(text, passphrase.size(), salt.data(), salt.size(), cost.n, cost.r, cost.p,
                       2 * kScryptMemoryBytesMax, out.writable().data(), out.size()) != 1)
        return fail(ErrorCode::kInternal, "scrypt failed (not enough memory?)");
    return out;
}

/// AES-128-CTR is its own inverse. @errors kInternal.
Status aes128_ctr(ByteView key, ByteView iv, ByteView in, std::span<std::uint8_t> out) {
    GYM_ASSERT(key.size() == 16 && iv.size() == kIvBytes && in.size() == out.size(),
               "AES-128-CTR sizes");
    const std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context(EVP_CIPHER_CTX_new(),
                                                                             EVP_CIPHER_CTX_free);
    int written = 0;
    if (!context ||
        EVP_EncryptInit_ex(context.get(), EVP_aes_128_ctr(), nullptr, key.data(), iv.data()) != 1 ||
        EVP_EncryptUpdate(context.get(), out.data(), &written, in.data(),
                          static_cast<int>(in.size())) != 1 ||
        written != static_cast<int>(in.size()))
        return fail(ErrorCode::kInternal, "AES-128-CTR failed");
    return {};
}

Digest mac_of(const SecretBytes& derived, ByteView ciphertext) {
    return keccak256({derived.view().subspan(16, 16), ciphertext});
}

std::string random_uuid() {
    std::array<std::uint8_t, 16> raw{};
    secure_random(raw);
    raw[6] = static_cast<std::uint8_t>((raw[6] & 0x0f) | 0x40);  // version 4, RFC 4122
    raw[8] = static_cast<std::uint8_t>((raw[8] & 0x3f) | 0x80);
    std::string text = to_hex(raw);
    for (const std::size_t at : {8U, 13U, 18U, 23U})
        text.insert(at, 1, '-');
    return text;
}

Error malformed(std::string_view why) {
    return fail(ErrorCode::kMalformed, "not a version 3 keystore: " + std::string(why));
}

Result<json::object> parse_object(std::string_view text) {
    if (text.size() > kKeystoreBytesMax) return malformed("too long");
    boost::system::error_code error;
    json::value value = json::parse({text.data(), text.size()}, error);
    if (error || !value.is_object()) return malformed("it is no JSON object");
    return std::move(value.as_object());
}

Result<const json::object*> member_object(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains({name.data(), name.size()});
    if (value == nullptr || !value->is_object())
        return malformed("object '" + std::string(name) + "' is missing");
    return &value->as_object();
}

Result<std::string> member_text(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains({name.data(), name.size()});
    if (value == nullptr || !value->is_string())
        return malformed("text '" + std::string(name) + "' is missing");
    return std::string(value->as_string());
}

Result<Bytes> member_hex(const json::object& object, std::string_view name, std::size_t size_min,
                         std::size_t size_max) {
    GYM_TRY(const std::string text, member_text(object, name));
    const auto bytes = from_hex(text);
    if (!bytes.ok() || bytes->size() < size_min || bytes->size() > size_max)
        return malformed("'" + std::string(name) + "' is not hexadecimal of the right length");
    return *bytes;
}

Result<std::uint32_t> member_u32(const json::object& object, std::string_view name) {
    const json::value* value = object.if_contains({name.data(), name.size()});
    if (value == nullptr || !value->is_int64() || value->as_int64() < 0)
        return malformed("number '" + std::string(name) + "' is missing");
    if (value->as_int64() > UINT32_MAX)
        return fail(ErrorCode::kOutOfRange,
                    "'" + std::string(name) + "' of the keystore is too large");
    return static_cast<std::uint32_t>(value->as_int64());
}

Result<Sealed> parse_sealed(const json::object& root) {
    GYM_TRY(const std::uint32_t version, member_u32(root, "version"));
    if (version != 3) return malformed("version " + std::to_string(version));
    GYM_TRY(const json::object* crypto, member_object(root, "crypto"));
    GYM_TRY(const std::string cipher, member_text(*crypto, "cipher"));
    if (cipher != "aes-128-ctr") return malformed("cipher '" + cipher + "' (only aes-128-ctr)");
    GYM_TRY(const std::string kdf, member_text(*crypto, "kdf"));
    if (kdf != "scrypt") return malformed("key derivation '" + kdf + "' (only scrypt)");
    GYM_TRY(const json::object* cipher_params, member_object(*crypto, "cipherparams"));
    GYM_TRY(const json::object* kdf_params, member_object(*crypto, "kdfparams"));
    GYM_TRY(const std::uint32_t derived, member_u32(*kdf_params, "dklen"));
    if (derived != kDerivedBytes) return malformed("dklen is not 32");

    Sealed out;
    GYM_TRY(out.cost.n, member_u32(*kdf_params, "n"));
    GYM_TRY(out.cost.r, member_u32(*kdf_params, "r"));
    GYM_TRY(out.cost.p, member_u32(*kdf_params, "p"));
    GYM_TRY(out.salt, member_hex(*kdf_params, "salt", 1, kSaltBytesMax));
    GYM_TRY(out.iv, member_hex(*cipher_params, "iv", kIvBytes, kIvBytes));
    GYM_TRY(out.ciphertext, member_hex(*crypto, "ciphertext", 32, 32));
    GYM_TRY(out.mac, member_hex(*crypto, "mac", 32, 32));
    return out;
}

/// The address a keystore names; absent is allowed (some tools leave it out for privacy).
Result<std::optional<Address>> named_address(const json::object& root) {
    if (!root.contains("address")) return std::optional<Address>();
    GYM_TRY(const std::string text, member_text(root, "address"));
    const auto address = Address::parse(text);
    if (!address.ok()) return malformed("'address' is not an address");
    return std::optional<Address>(*address);
}

/// Gives `content` the name `path` only if the name is free, in one step (link fails on a taken
/// name).
Status create_file(const std::filesystem::path& path, ByteView content) {
    const std::filesystem::path temporary = path.string() + "." + random_uuid() + ".new";
    GYM_CHECK(write_file_atomic(temporary, content, 0600));
    const int linked = ::link(temporary.c_str(), path.c_str());
    const int reason = errno;
    ::unlink(temporary.c_str());
    if (linked == 0) return {};
    if (reason == EEXIST)
        return fail(ErrorCode::kAlreadyExists,
                    path.string() + " exists; a key is never overwritten");
    return fail(ErrorCode::kIo, "cannot create " + path.string() + ": " + std::strerror(reason));
}

}  // namespace

Result<std::string> encrypt_keystore(const PrivateKey& key, const SecretBytes& passphrase,
                                     const ScryptCost& cost) {
    if (passphrase.empty())
        return fail(ErrorCode::kInvalidArgument, "a keystore needs a passphrase");
    if (const Status bounds = check_cost(cost); !bounds.ok())
        return fail(ErrorCode::kInvalidArgument, bounds.error().message);
    const Digest salt = random_digest();
    std::array<std::uint8_t, kIvBytes> iv{};
    secure_random(iv);
    GYM_TRY(const SecretBytes derived, derive(passphrase, cost, salt.view()));
    const SecretBytes secret = key.reveal();
    Bytes ciphertext(secret.size());
    GYM_CHECK(aes128_ctr(derived.view().first(16), iv, secret.view(), ciphertext));
    const json::object root{
        {"address", to_hex(key.address().view())},
        {"crypto", json::object{{"cipher", "aes-128-ctr"},
                                {"cipherparams", json::object{{"iv", to_hex(iv)}}},
                                {"ciphertext", to_hex(ciphertext)},
                                {"kdf", "scrypt"},
                                {"kdfparams", json::object{{"dklen", kDerivedBytes},
                                                           {"n", cost.n},
                                                           {"p", cost.p},
                                                           {"r", cost.r},
                                                           {"salt", to_hex(salt.view())}}},
                                {"mac", to_hex(mac_of(derived, ciphertext).view())}}},
        {"id", random_uuid()},
        {"version", 3}};
    return json::serialize(root) + "\n";
}

Result<PrivateKey> decrypt_keystore(std::string_view text, const SecretBytes& passphrase) {
    GYM_TRY(const json::object root, parse_object(text));
    GYM_TRY(const Sealed sealed, parse_sealed(root));
    GYM_TRY(const std::optional<Address> named, named_address(root));
    GYM_TRY(const SecretBytes derived, derive(passphrase, sealed.cost, sealed.salt));
    if (!equal_constant_time(mac_of(derived, sealed.ciphertext).view(), sealed.mac))
        return fail(ErrorCode::kPermissionDenied, "wrong passphrase (or the keystore was altered)");
    SecretBytes secret(sealed.ciphertext.size());
    GYM_CHECK(
        aes128_ctr(derived.view().first(16), sealed.iv, sealed.ciphertext, secret.writable()));
    GYM_TRY(PrivateKey key, PrivateKey::from_bytes(secret.view()));
    if (named && *named != key.address())
        return fail(ErrorCode::kMismatch, "the keystore names address " + to_checksum(*named) +
                                              " but holds the key of " +
                                              to_checksum(key.address()));
    return key;
}

Status save_keystore(const std::filesystem::path& path, const PrivateKey& key,
                     const SecretBytes& passphrase, const ScryptCost& cost) {
    GYM_TRY(const std::string text, encrypt_keystore(key, passphrase, cost));
    return create_file(path, as_bytes(text));
}

Result<PrivateKey> load_keystore(const std::filesystem::path& path, const SecretBytes& passphrase) {
    GYM_TRY(const Bytes content, read_file(path, kKeystoreBytesMax));
    auto key = decrypt_keystore({reinterpret_cast<const char*>(content.data()), content.size()},
                                passphrase);
    if (!key.ok()) return key.error().in(path.string());
    return key;
}

Result<Address> keystore_address(const std::filesystem::path& path) {
    GYM_TRY(const Bytes content, read_file(path, kKeystoreBytesMax));
    GYM_TRY(const json::object root,
            parse_object({reinterpret_cast<const char*>(content.data()), content.size()}));
    GYM_TRY(const std::optional<Address> named, named_address(root));
    if (!named) return fail(ErrorCode::kMalformed, path.string() + " does not name its address");
    return *named;
}

}  // namespace gym::crypto
