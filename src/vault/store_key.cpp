#include "gym/vault/store_key.hpp"

#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gym/common/assert.hpp"
#include "gym/common/file.hpp"

namespace gym::vault {
namespace {

constexpr std::string_view kNodeInfo = "gym.blob-store.v1";
constexpr std::string_view kIdInfo = "gym.blob-store.id.v1";
constexpr std::string_view kFileInfo = "gym.blob.v1";

/// HKDF-SHA256. Fails for want of memory alone, after which nobody could go on.
void hkdf(ByteView secret, ByteView salt, ByteView info, std::span<std::uint8_t> out) {
    const std::unique_ptr<EVP_KDF, void (*)(EVP_KDF*)> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr),
                                                           EVP_KDF_free);
    const std::unique_ptr<EVP_KDF_CTX, void (*)(EVP_KDF_CTX*)> context(EVP_KDF_CTX_new(kdf.get()),
                                                                       EVP_KDF_CTX_free);
    // OpenSSL's parameters are not const; it only reads them.
    const auto octets = [](const char* name, ByteView bytes) {
        return OSSL_PARAM_construct_octet_string(name, const_cast<std::uint8_t*>(bytes.data()),
                                                 bytes.size());  // NOLINT
    };
    char digest[] = "SHA256";
    std::vector<OSSL_PARAM> parameters{
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
        octets(OSSL_KDF_PARAM_KEY, secret), octets(OSSL_KDF_PARAM_INFO, info)};
    // OpenSSL takes no salt of no bytes; without one, it is zeros, as RFC 5869 has it.
    if (!salt.empty()) parameters.push_back(octets(OSSL_KDF_PARAM_SALT, salt));
    parameters.push_back(OSSL_PARAM_construct_end());
    const int done =
        context ? EVP_KDF_derive(context.get(), out.data(), out.size(), parameters.data()) : 0;
    GYM_ASSERT(done == 1, "HKDF failed");
}

Result<crypto::SecretBytes> parse_key(const crypto::SecretBytes& text, const std::string& origin) {
    const ByteView digits = text.view();
    auto parsed = Digest::parse(
        std::string_view(reinterpret_cast<const char*>(digits.data()), digits.size()));
    if (parsed.ok()) {
        crypto::SecretBytes out(Bytes(parsed->data.begin(), parsed->data.end()));
        crypto::secure_clear(parsed->data);
        return out;
    }
    return fail(ErrorCode::kMalformed, origin +
                                           " must hold 64 hexadecimal digits, the key of a "
                                           "blob store (`openssl rand -hex 32` makes one)");
}

Error io_error(const std::filesystem::path& path) {
    return fail(ErrorCode::kIo, path.string() + ": " + std::strerror(errno));
}

/// A whole file, or none: written beside its place, then linked there unless another was first.
Status create_key_file(const std::filesystem::path& file) {
    std::string temporary = file.string() + ".XXXXXX";
    const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);  // mode 0600
    if (descriptor < 0) return io_error(file);
    crypto::SecretBytes secret(kStoreKeyBytes);
    crypto::secure_random(secret.writable());
    std::string line = to_hex(secret.view()) + "\n";
    const bool written =
        ::write(descriptor, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
        ::fsync(descriptor) == 0;
    crypto::secure_clear(std::span(reinterpret_cast<std::uint8_t*>(line.data()), line.size()));
    const bool linked =
        written && (::link(temporary.c_str(), file.c_str()) == 0 || errno == EEXIST);
    const Status done = linked ? Status() : Status(io_error(file));
    ::close(descriptor);
    ::unlink(temporary.c_str());
    return done;
}

}  // namespace

StoreKey StoreKey::random() {
    crypto::SecretBytes secret(kStoreKeyBytes);
    crypto::secure_random(secret.writable());
    return StoreKey(std::move(secret));
}

StoreKey StoreKey::of(const crypto::PrivateKey& key) {
    crypto::SecretBytes secret(kStoreKeyBytes);
    hkdf(key.reveal().view(), {}, as_bytes(kNodeInfo), secret.writable());
    return StoreKey(std::move(secret));
}

Result<StoreKey> StoreKey::load(const std::filesystem::path& file) {
    GYM_TRY(const crypto::SecretBytes line, crypto::read_secret_file(file.string()));
    GYM_TRY(crypto::SecretBytes secret, parse_key(line, file.string()));
    return StoreKey(std::move(secret));
}

Result<StoreKey> StoreKey::load_or_create(const std::filesystem::path& file) {
    std::error_code code;
    if (!std::filesystem::exists(file, code)) GYM_CHECK(create_key_file(file));
    return load(file);
}

StoreKey StoreKey::clone() const {
    const ByteView bytes = secret_.view();
    return StoreKey(crypto::SecretBytes(Bytes(bytes.begin(), bytes.end())));
}

std::array<std::uint8_t, 8> StoreKey::id() const {
    std::array<std::uint8_t, 8> out{};
    hkdf(secret_.view(), {}, as_bytes(kIdInfo), out);
    return out;
}

crypto::SecretBytes StoreKey::file_key(ByteView salt, const Digest& root) const {
    Bytes info(kFileInfo.begin(), kFileInfo.end());
    info.insert(info.end(), root.data.begin(), root.data.end());
    crypto::SecretBytes out(kStoreKeyBytes);
    hkdf(secret_.view(), salt, info, out.writable());
    return out;
}

}  // namespace gym::vault
