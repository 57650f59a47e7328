#include "gym/crypto/secret.hpp"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "gym/common/file.hpp"

namespace gym::crypto {
namespace {

constexpr std::uint64_t kSecretFileBytesMax = 4096;

/// Whether systemd put the file there for this service alone (LoadCredential=). It gives the
/// service's user access by an access control list, whose mask shows as group permission to read.
bool is_service_credential(const std::filesystem::path& path) {
    const char* const folder = std::getenv("CREDENTIALS_DIRECTORY");
    return folder != nullptr && *folder != '\0' && path.parent_path() == folder;
}

}  // namespace

SecretBytes& SecretBytes::operator=(SecretBytes&& other) noexcept {
    if (this != &other) {
        secure_clear(bytes_);
        bytes_ = std::move(other.bytes_);
    }
    return *this;
}

SecretBytes::~SecretBytes() {
    secure_clear(bytes_);
}

void secure_random(std::span<std::uint8_t> out) {
    GYM_ASSERT(out.size() <= 1U << 20, "the file is too large for a secret");
    const int ok = RAND_priv_bytes(out.data(), static_cast<int>(out.size()));
    GYM_ASSERT(ok == 1, "the operating system gives no random bytes");
}

Digest random_digest() {
    Digest out;
    secure_random(out.data);
    return out;
}

void secure_clear(std::span<std::uint8_t> bytes) noexcept {
    if (!bytes.empty()) OPENSSL_cleanse(bytes.data(), bytes.size());
}

bool equal_constant_time(ByteView a, ByteView b) noexcept {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

Result<SecretBytes> read_secret_file(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0)
        return fail(ErrorCode::kNotFound, "no secret file " + path);
    const mode_t open_to_group = is_service_credential(path) ? S_IRGRP : 0;
    if ((info.st_mode & (S_IRWXG | S_IRWXO) & ~open_to_group) != 0)
        return fail(ErrorCode::kPermissionDenied,
                    path + " is open to other users; run chmod 600 on it");
    GYM_TRY(Bytes content, read_file(path, kSecretFileBytesMax));
    const auto end = std::find_if(content.begin(), content.end(),
                                  [](std::uint8_t c) { return c == '\n' || c == '\r'; });
    SecretBytes line(Bytes(content.begin(), end));
    secure_clear(content);
    if (line.empty()) return fail(ErrorCode::kMalformed, path + " holds no secret");
    return line;
}

}  // namespace gym::crypto
